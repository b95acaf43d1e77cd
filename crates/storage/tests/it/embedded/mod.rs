//! Tests of what only the embedded stores promise: files on a disk, repair of damage, one process
//! per home.

mod audit_chain;
mod audit_seal;
mod connectors;
mod entities;
mod faulty;
mod history;
mod home;
mod index_file;
mod log_cost;
mod log_damage;
mod log_edits;
mod log_faults;
mod log_havoc;
mod object_escapes;
mod object_faults;
mod old_audit_rows;
mod provenance;
mod rebuild;
