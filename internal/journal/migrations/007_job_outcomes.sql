-- What became of a message after a job had moved it: a word of admin.Fates, empty until it is known.
ALTER TABLE job_items ADD COLUMN became TEXT NOT NULL DEFAULT '';
