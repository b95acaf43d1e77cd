use std::fmt;

/// The path of a value in the config. It is built on the stack while the config is walked.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: PathSegment<'a>,
}

#[derive(Clone, Copy)]
enum PathSegment<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) const fn root() -> Self {
        Self { parent: None, segment: PathSegment::Root }
    }

    pub(super) const fn key(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), segment: PathSegment::Key(name) }
    }

    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), segment: PathSegment::Index(index) }
    }

    /// How many segments the path has below the root.
    pub(super) fn depth(&self) -> usize {
        self.parent.map_or(0, |parent| parent.depth() + 1)
    }

    pub(super) fn starts_with(&self, names: &[&str]) -> bool {
        let mut segments = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            if let PathSegment::Key(name) = path.segment {
                segments.push(name);
            }
            at = path.parent;
        }
        segments.iter().rev().zip(names).filter(|(segment, name)| segment == name).count()
            == names.len()
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = self.parent.map(ToString::to_string).unwrap_or_default();
        match self.segment {
            PathSegment::Root => Ok(()),
            PathSegment::Key(name) if parent.is_empty() => f.write_str(name),
            PathSegment::Key(name) => write!(f, "{parent}.{name}"),
            PathSegment::Index(index) => write!(f, "{parent}[{index}]"),
        }
    }
}
