//! Backups of real homes: real files, a real database, real kills.

mod damage;
mod encrypted;
mod exporting;
mod killed;
mod large;
mod restoring;
mod taking;
mod world;
