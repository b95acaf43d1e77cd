//! Says which chunks a search may see.

use onyx_storage::GroupId;

/// One flag for each group, by the group's number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VisibleGroups {
    groups: Vec<bool>,
}

impl VisibleGroups {
    #[inline]
    pub(crate) fn allows(&self, group: GroupId) -> bool {
        self.groups.get(group.0 as usize).copied().unwrap_or(false)
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.groups.contains(&true)
    }
}

impl FromIterator<GroupId> for VisibleGroups {
    fn from_iter<Groups: IntoIterator<Item = GroupId>>(groups: Groups) -> Self {
        let mut visible = Self::default();
        for group in groups {
            let place = group.0 as usize;
            if visible.groups.len() <= place {
                visible.groups.resize(place + 1, false);
            }
            visible.groups[place] = true;
        }
        visible
    }
}
