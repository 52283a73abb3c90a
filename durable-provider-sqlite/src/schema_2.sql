-- Version 2: work that the holder of an instance runs itself has no row of its own.

-- What of it is open, see `store/in_hand.rs`; NULL is nothing.
ALTER TABLE instance ADD COLUMN in_hand BLOB;
