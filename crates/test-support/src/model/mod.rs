//! The scripted model: its answers, on each wire, over a real socket.

pub(crate) mod answer;
pub(crate) mod script;
pub(crate) mod server;
pub(crate) mod wire;

pub use answer::{Answer, Content, Delivery, Encoding, Fault, LineEnd, Pieces};
pub use script::{
    ErrorKind, Finish, Script, ScriptedCall, ScriptedError, ScriptedUsage, Step, Terminator,
};
pub use server::{RecordedRequest, Recording, Rule, ScriptFile, ScriptedModel};
pub use wire::{Frame, Frames, Wire};
