//! Operating a server for years: its log, usage, service, packages, and the built-in manual.

mod doctor;
mod logs;
mod manual;
mod packages;
mod service;
mod team;
mod usage;
