"""``deepthink backup``, ``deepthink restore`` and ``deepthink forget``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traces import paths
from traces.paths import expanded_path
from traces.runs import Runs
from traces.store import Store, StoreDamaged
from tui import failures
from tui.assemble import open_store
from tui.options import RunId, Yes, collection_option, confirm
from tui.terminal import clean, counted, one_line

if TYPE_CHECKING:
    from traces.backup import Rebuilt
    from traces.records import Document


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Replaced if it is there.")],
) -> None:
    """Write the library, runs, policies and settings to one file.

    Model files are left out; `deepthink models pull` fetches them. The file is not encrypted.
    """
    from traces.backup import back_up

    back_up(open_store(), expanded_path(file).absolute())
    typer.echo(f"Backed up to {file}.")


def restore(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Written by `deepthink backup`.")
    ] = None,
    yes: Yes = False,
) -> int:
    """Put a backup back, or repair a damaged library.

    It replaces the present data, which are set aside. Without FILE, a damaged library is set aside and
    rebuilt from what can still be read.
    """
    store = open_store()
    if file is None:
        return _repair(store)
    from traces.backup import check
    from traces.backup import restore as put_back

    _check_idle(store)
    source = expanded_path(file).absolute()
    check(source)  # before the user is asked
    if store.path.exists():
        confirm(
            f"Put {clean(str(file))} in place of the present library, runs, policies and settings?", yes
        )
    before = put_back(store, source)
    typer.echo(f"Restored {file}." + (f" What was there before is in {before}." if before else ""))
    return failures.DONE


def _repair(store: Store) -> int:
    from traces.backup import rebuild

    if not _is_damaged(store):
        typer.echo("The library is not damaged.")
        return failures.DONE
    result = rebuild(store)
    typer.echo(f"The damaged file is {result.set_aside}.")
    typer.echo(f"Lost: {', '.join(result.lost)}." if result.lost else "Everything in it could be read.")
    return _reread(store, result)


def _is_damaged(store: Store) -> bool:
    """Whether a row cannot be read; reads all rows, since damage shows only then."""
    try:
        with store.connect() as db:
            for (table,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                db.execute(f"SELECT bit_xor(hash(t)) FROM {table} t").fetchall()
    except StoreDamaged:
        return True
    return False


def _reread(store: Store, rebuilt: Rebuilt) -> int:
    """Read documents again that lost their text, and embed passages that lost their vectors."""
    from itertools import groupby

    from tui.assemble import open_embedder
    from tui.interrupts import ctrl_c
    from tui.library.actions import embed, read_in, reread_intake
    from tui.library.ingesting import show_ingestion
    from tui.settings.settings import load

    code = failures.DONE
    if "documents" in rebuilt.lost:
        failures.warn(
            "Read your documents again: `deepthink sync` for folders, `deepthink ingest` for others."
        )
    if not rebuilt.documents and not {"vectors", "library"} & {*rebuilt.lost}:
        return code
    settings = load()
    embedder = open_embedder(settings)
    for _, shelf in groupby(rebuilt.documents, key=lambda document: document.collection):
        selection, missing = reread_intake(list(shelf), settings)
        for message in missing:
            failures.warn(message)
        if selection.paths or selection.addresses:
            with ctrl_c() as cancel:
                events = read_in(selection, settings, store, embedder, cancel, follow=False)
                code = show_ingestion(events) or code
    embed(store, embedder)
    return code


forget = typer.Typer(invoke_without_command=True)


@forget.callback()
def explain_forgetting(context: typer.Context) -> None:
    """Erase a document or a run, and every trace of it."""
    if not context.invoked_subcommand:
        typer.echo(context.get_help())


@forget.command("document")
def forget_document(
    reference: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its number or its name.")],
    collection: Annotated[str | None, collection_option("The collection it is in.")] = None,
    yes: Yes = False,
) -> None:
    """Erase a document, and every run that used it.

    Later runs of the same conversations go too, since they may repeat it; other runs that found it stay,
    without its passages. The file itself stays where it is, as do exports and backups that you made.
    `deepthink library remove` keeps the runs.
    """
    from agent import checkpoints
    from agent.documents.following import forget as remove
    from traces.backup import drop_changes, drop_found, runs_that_saw
    from traces.library import Library
    from tui.library.command import find_document

    store = open_store()
    library = Library(store)
    target = find_document(library, reference, collection)
    nested_documents = [
        d for d in library.documents(target.collection) if d.source.startswith(f"{target.source}/")
    ]
    documents = [*nested_documents, target]
    resumable = {path.stem for path in checkpoints.folder(store).glob("*.sqlite")}
    seen = [runs_that_saw(store, document, resumable) for document in documents]
    used = {run for one in seen for run in one.used}
    found = {run for one in seen for run in one.found} - used
    _check_idle(store)
    what = [f"{clean(target.name)} from {target.collection}"]
    what += [f"{counted(len(used), 'run')} that may repeat it"] if used else []
    what += [f"its passages from {counted(len(found), 'other run')}"] if found else []
    confirm(f"Erase {', and '.join(what)}?", yes)
    for document in documents:
        remove(store, document)
        drop_changes(store, document.source)
        drop_found(store, document, found)
    _erase_runs(store, sorted(used))
    for collection_store in _collected_stores():
        for document in documents:
            collected = runs_that_saw(collection_store, document, ())
            Runs(collection_store).delete(*collected.used)
            drop_found(collection_store, document, collected.found)
    _erase_traces(store, documents)
    typer.echo(f"Erased {', and '.join(what)}.")


@forget.command("run")
def forget_run(
    reference: RunId,
    yes: Yes = False,
) -> None:
    """Erase a run, and later ones of its conversation.

    These may repeat it. Exports and backups that you made stay. `deepthink runs delete` deletes one run.
    """
    from tui.runs.actions import find

    store = open_store()
    runs = Runs(store)
    run = find(store, reference)
    later = (
        [late for late in runs.of_session(run.session) if late.started > run.started] if run.session else []
    )
    _check_idle(store)
    suffix = f", and {counted(len(later), 'later run')} of its conversation" if later else ""
    confirm(f"Erase run {run.id} “{one_line(run.question, 80)}”{suffix}?", yes)
    _erase_runs(store, [run.id, *(late.id for late in later)])
    _erase_traces(store, [])
    typer.echo(f"Erased run {run.id}{suffix}.")


def _erase_runs(store: Store, runs: list[str]) -> None:
    from agent import checkpoints

    Runs(store).delete(*runs)
    for run_id in runs:
        checkpoints.discard(store, run_id)


def _erase_traces(store: Store, documents: list[Document]) -> None:
    """Rewrite the stores, and delete everything else that may contain words of the erased documents."""
    from policy.training.course import folder as trainings_folder
    from traces.backup import older_copies, rewrite

    for opened_store in (store, *_collected_stores()):
        rewrite(opened_store)
    for path in (trainings_folder(), paths.originals_dir()):
        shutil.rmtree(path, ignore_errors=True)
    for path in paths.log_file().parent.glob(f"{paths.log_file().name}*"):
        path.unlink()
    for document in documents:
        (paths.scans_dir() / f"{document.sha256}.jsonl").unlink(missing_ok=True)
    for copy in older_copies(store):
        if copy.name.startswith(f"{store.path.name}.v"):  # made before a migration that has succeeded
            copy.unlink()
        else:
            failures.warn(f"{copy} is older, and may still hold it; delete it if you do not need it.")


def _collected_stores() -> list[Store]:
    return [Store(path, named=True) for path in sorted((paths.data_dir() / "collected").glob("*.duckdb"))]


def _check_idle(store: Store) -> None:
    """Raise `GoingOn` if a process works on a run."""
    from agent import checkpoints

    for path in checkpoints.folder(store).glob("*.sqlite"):
        if checkpoints.exists(store, path.stem) and checkpoints.in_use(store, path.stem):
            raise checkpoints.GoingOn.of(path.stem)
