//! What a pull or push would do: the exact address, the refs, and for a push every commit that
//! would be sent. It is worked out before a person is asked and again before it is done.

use onyx_types::{Address, Hash, PlanTarget, Target};

use super::remote::{Direction, GitRemotes, RemoteAddress};
use super::repository::{Repository, is_plain};
use super::{GitArguments, Work, words};
use crate::{ToolCx, ToolError};

/// More commits than this are counted but not listed.
const MOST_COMMITS: usize = 100;

pub(super) struct Transfer {
    pub(super) address: RemoteAddress,
    direction: Direction,
    /// The local ref that remembers what the remote last held.
    tracking: String,
    /// The branch at the remote.
    remote_branch: String,
    /// The commit of the local branch; `None` if it has no commit yet.
    here: Option<String>,
    /// The commit of the remote branch when it was last seen.
    there: Option<String>,
    /// The description for people.
    text: String,
}

impl Transfer {
    pub(super) async fn plan(
        direction: Direction,
        wish: &GitArguments,
        remotes: &GitRemotes,
        work: &Work<'_>,
        cx: &ToolCx,
    ) -> Result<Self, ToolError> {
        let repository = work.repository;
        let remote = plain(wish.remote.as_deref().unwrap_or("origin"))?;
        let current = current_branch(repository)?;
        let branch = plain(wish.branch.as_deref().unwrap_or(current))?;
        let address = remotes.address(&repository.config, remote, direction)?;
        let remote_branch = format!("refs/heads/{branch}");
        let tracking = format!("refs/remotes/{remote}/{branch}");
        let of = match direction {
            Direction::Pull => format!("refs/heads/{current}"),
            Direction::Push => remote_branch.clone(),
        };
        let (here, there) = (work.id(&of, cx).await?, work.id(&tracking, cx).await?);
        let mut transfer =
            Self { address, direction, tracking, remote_branch, here, there, text: String::new() };
        transfer.text = match direction {
            Direction::Pull => transfer.pull_text(&of),
            Direction::Push => transfer.push_text(work, cx).await?,
        };
        Ok(transfer)
    }

    /// The address and the refs with their commits. If one of them changes, the plan is another
    /// one.
    pub(super) fn targets(&self) -> Vec<PlanTarget> {
        let ids = [&self.here, &self.there].map(|id| id.as_deref().unwrap_or("none"));
        let refs = format!("{} at {}", self.remote_branch, self.address);
        let state = Hash::of_parts([self.text.as_bytes(), ids[0].as_bytes(), ids[1].as_bytes()]);
        vec![
            Target::Address(Address::new(self.address.to_string())).into(),
            PlanTarget { base: Some(state), ..Target::Branch(refs).into() },
        ]
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The commands in order. Only the first uses the network.
    pub(super) fn commands(&self) -> Vec<Vec<String>> {
        let Self { remote_branch, tracking, .. } = self;
        let url = self.address.as_str();
        match (self.direction, &self.here) {
            (Direction::Push, Some(here)) => {
                let there = self.there.as_deref().unwrap_or_default();
                let mut push = words(&["push", "--porcelain", "--no-verify", "--no-signed"]);
                push.extend(words(&["--no-follow-tags", "--receive-pack=git-receive-pack"]));
                // The push succeeds only if the remote branch is as it was shown. Otherwise other
                // commits would be sent.
                push.push(format!("--force-with-lease={remote_branch}:{there}"));
                push.extend(words(&["--", url, &format!("{here}:{remote_branch}")]));
                vec![push, words(&["update-ref", tracking, here])]
            }
            (Direction::Push | Direction::Pull, _) => {
                let mut fetch = words(&["fetch", "--no-tags", "--no-write-fetch-head"]);
                fetch.extend(words(&["--no-auto-maintenance", "--upload-pack=git-upload-pack"]));
                fetch.extend(words(&["--", url, &format!("+{remote_branch}:{tracking}")]));
                let merge = ["merge", "--ff-only", "--no-verify-signatures", "--no-autostash"];
                let mut merge = words(&merge);
                merge.push(tracking.clone());
                vec![fetch, merge]
            }
        }
    }

    fn pull_text(&self, into: &str) -> String {
        let here = self.here.as_deref().unwrap_or("no commit yet");
        let there = self.there.as_deref().unwrap_or("not known");
        format!(
            "Pull from {}\n{} there (last seen: {there})\ninto {into} (now {here}), fast-forward \
             only.\nWhat arrives is not known before; it counts as from outside.",
            self.address, self.remote_branch
        )
    }

    async fn push_text(&self, work: &Work<'_>, cx: &ToolCx) -> Result<String, ToolError> {
        let Some(here) = &self.here else {
            return Err(ToolError::NotFound(format!("commit on {}", self.remote_branch)));
        };
        let (range, base) = match &self.there {
            Some(there) if there == here => {
                let message =
                    format!("nothing to push: {} is there as it is here", self.remote_branch);
                return Err(ToolError::Arguments(message));
            }
            Some(there) => {
                let ancestor = ["merge-base", "--is-ancestor", there, here];
                if !work.succeeds(&words(&ancestor), cx).await? {
                    let message = "the remote has commits that are not here; pull first";
                    return Err(ToolError::Arguments(message.to_owned()));
                }
                (format!("{there}..{here}"), there.clone())
            }
            // Compared with the empty tree, everything is new.
            None => (
                here.clone(),
                work.output_of(&words(&["hash-object", "-t", "tree", "/dev/null"]), cx).await?,
            ),
        };
        let count = work.output_of(&words(&["rev-list", "--count", &range, "--"]), cx).await?;
        let most = format!("-{MOST_COMMITS}");
        let log = ["log", &most, "--date=short", "--format=%h %ad %an: %s", &range, "--"];
        let log = work.output_of(&words(&log), cx).await?;
        let stat = ["diff", "--stat=100", "--stat-count=200", "--no-ext-diff", "--no-textconv"];
        let stat = [&stat[..], &[base.trim(), here, "--"]].concat();
        let stat = work.output_of(&words(&stat), cx).await?;
        let there = self.there.as_deref().unwrap_or("not there, as far as is known here");
        let listed = log.lines().count();
        let more = match count.trim().parse::<usize>() {
            Ok(count) if count > listed => format!(", the newest {listed} of them listed"),
            _ => String::new(),
        };
        Ok(format!(
            "Push to {}\n{}: {there} → {here}\n{} commits leave{more}:\n{}\nFiles:\n{}",
            self.address,
            self.remote_branch,
            count.trim(),
            log.trim_end(),
            stat.trim_end()
        ))
    }
}

fn current_branch(repository: &Repository) -> Result<&str, ToolError> {
    let message = "no branch is checked out; the person has to check one out first";
    repository.branch.as_deref().ok_or_else(|| ToolError::Arguments(message.to_owned()))
}

fn plain(name: &str) -> Result<&str, ToolError> {
    if is_plain(name) {
        return Ok(name);
    }
    Err(ToolError::Arguments(format!("{name:?} is not a plain name")))
}
