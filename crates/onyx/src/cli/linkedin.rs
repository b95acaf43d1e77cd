//! `onyx linkedin`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum LinkedInCommand {
    /// Whether an account is connected, as whom, and what LinkedIn last said
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask LinkedIn whether it takes the sign-in
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect your account, in a browser that is signed in to Onyx
    Login {
        /// Print JSON: which page to open, then what came of it
        #[arg(long)]
        json: bool,
    },
    /// Forget the sign-in here and take it back at LinkedIn
    Logout {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
