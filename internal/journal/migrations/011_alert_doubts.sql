-- Whether the channel has what it was told: 0 as far as is known, 1 it may never have arrived, 2 it was the first of the alert and given up.
ALTER TABLE alert_sent ADD COLUMN doubt INTEGER NOT NULL DEFAULT 0;
