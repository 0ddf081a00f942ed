-- Author of a document, if its file names one; for a mail, its sender.

ALTER TABLE documents ADD COLUMN author VARCHAR DEFAULT '';
