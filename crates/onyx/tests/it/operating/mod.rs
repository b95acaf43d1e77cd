//! What whoever runs a server for years uses: its log, what was used, its service, its packages, the manual in it.

mod doctor;
mod logs;
mod manual;
mod packages;
mod service;
mod team;
mod usage;
