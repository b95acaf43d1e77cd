use std::fmt;

/// The path of a value in the config. It is built on the stack while the config is walked.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) const fn root() -> Self {
        Self { parent: None, step: Step::Root }
    }

    pub(super) const fn key(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(name) }
    }

    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// How many steps the path has below the root.
    pub(super) fn depth(&self) -> usize {
        self.parent.map_or(0, |parent| parent.depth() + 1)
    }

    pub(super) fn starts_with(&self, names: &[&str]) -> bool {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            if let Step::Key(name) = path.step {
                steps.push(name);
            }
            at = path.parent;
        }
        steps.iter().rev().zip(names).filter(|(step, name)| step == name).count() == names.len()
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = self.parent.map(ToString::to_string).unwrap_or_default();
        match self.step {
            Step::Root => Ok(()),
            Step::Key(name) if parent.is_empty() => f.write_str(name),
            Step::Key(name) => write!(f, "{parent}.{name}"),
            Step::Index(index) => write!(f, "{parent}[{index}]"),
        }
    }
}
