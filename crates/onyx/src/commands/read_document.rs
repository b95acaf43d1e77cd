use std::io;

use crate::exit::Exit;

pub(crate) fn run() -> io::Result<Exit> {
    onyx_extract::serve_helper()?;
    Ok(Exit::Done)
}
