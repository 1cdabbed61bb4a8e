-- The newest death that a message had had when a job took it, as JSON; empty when it had none: a requeue takes the death history off.
ALTER TABLE job_items ADD COLUMN death TEXT NOT NULL DEFAULT '';
