-- How many of the acknowledged dead letters were in queues of the pipeline alone; the rest of count were in shared ones.
-- NULL where it was not kept, in baselines from before.
ALTER TABLE dead_letter_baselines ADD COLUMN own INTEGER CHECK (own BETWEEN 0 AND count);
