//! What only the embedded stores promise: files on a disk, damage to them, one process per home.

mod log_damage;
