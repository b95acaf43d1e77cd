//! `onyx linkedin`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum LinkedInCommand {
    /// Show whether an account is connected, its name, and what LinkedIn last answered
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check with LinkedIn that the sign-in still works
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect your account, in a browser that is signed in to Onyx
    Login {
        /// Print JSON: first the page to open, then the result
        #[arg(long)]
        json: bool,
    },
    /// Delete the sign-in here and revoke it at LinkedIn
    Logout {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
