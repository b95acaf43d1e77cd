use std::ffi::OsString;
use std::io;

use crate::exit::Exit;

pub(crate) fn run(task: &[OsString], hold: impl FnOnce()) -> io::Result<Exit> {
    onyx_extract::serve_helper(task, hold)?;
    Ok(Exit::Done)
}
