-- Who wrote a document, where its file says so: of a mail, its sender.

ALTER TABLE documents ADD COLUMN author VARCHAR DEFAULT '';
