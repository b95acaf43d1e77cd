use std::ffi::OsString;
use std::io;

use onyx_extract::Confinement;

use crate::exit::Exit;

pub(crate) fn run(task: &[OsString], confine: impl FnOnce(Confinement<'_>)) -> io::Result<Exit> {
    onyx_extract::serve_helper(task, confine)?;
    Ok(Exit::Done)
}
