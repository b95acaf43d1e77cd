use std::io;

use crate::exit::Exit;

pub(crate) fn run(hold: impl FnOnce()) -> io::Result<Exit> {
    onyx_extract::serve_helper(hold)?;
    Ok(Exit::Done)
}
