//! What agents do with a person's memory besides answering: a model reads texts for facts, and an
//! agent proposes what its memory should hold. Nothing is written to a person's files here; facts go
//! to the index, and proposals are drafts of a run.

mod facts;
mod keeping;
mod proposals;

pub(crate) use facts::ModelFacts;
pub(crate) use keeping::keeping_request;
