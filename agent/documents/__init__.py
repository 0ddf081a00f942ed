"""Documents: a file, a folder or a page in, chunks with vectors in the library out.

Owns: reading files (`reading`, one module per format in `formats`), the parsed document, its headings and
tables, chunking, coverage, ingestion, and the sample library.

Must not know: the run, its prompts and its decisions.
"""
