-- Why a file could not be read, for the user; '' if that was not recorded.

ALTER TABLE unreadable ADD COLUMN reason VARCHAR DEFAULT '';
