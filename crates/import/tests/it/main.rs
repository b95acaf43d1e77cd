//! Every reader against a home or an export of its program; what is written is compared by counting
//! and by reading it back from the home.

mod chats;
mod homes;
mod support;
mod writing;
