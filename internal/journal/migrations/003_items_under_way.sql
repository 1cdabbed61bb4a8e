-- Recovery asks for items that were begun and have no outcome, whether or not their operation has ended.
CREATE INDEX outcomes_under_way ON outcomes (operation) WHERE done_at IS NULL;
