use std::ffi::OsString;
use std::path::PathBuf;

/// What a helper does with the bytes on its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Reads the text of a PDF, page by page.
    Pages,
    /// Reads the text of a Word document or a book.
    Text,
    /// Takes the picture out of this page of a scanned PDF, counted from one.
    Picture(u32),
    /// Becomes the program that recognises text, with these arguments.
    Recognise { program: PathBuf, arguments: Vec<OsString> },
}

impl Task {
    /// The helper's arguments for the task, after its fixed ones.
    pub(crate) fn to_arguments(&self) -> Vec<OsString> {
        match self {
            Self::Pages => vec!["pages".into()],
            Self::Text => vec!["text".into()],
            Self::Picture(page) => vec!["picture".into(), page.to_string().into()],
            Self::Recognise { program, arguments } => {
                let mut all = vec!["recognise".into(), program.clone().into_os_string()];
                all.extend_from_slice(arguments);
                all
            }
        }
    }

    /// The task that these arguments name; `None` if there is no such task.
    pub(crate) fn of_arguments(arguments: &[OsString]) -> Option<Self> {
        let (word, rest) = match arguments {
            [] => return Some(Self::Pages),
            [word, rest @ ..] => (word.to_str()?, rest),
        };
        match (word, rest) {
            ("pages", []) => Some(Self::Pages),
            ("text", []) => Some(Self::Text),
            ("picture", [page]) => Some(Self::Picture(page.to_str()?.parse().ok()?)),
            ("recognise", [program, arguments @ ..]) => {
                Some(Self::Recognise { program: program.into(), arguments: arguments.to_vec() })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_survives_its_way_through_the_arguments() {
        let arguments = vec!["--list-langs".into(), "-l".into(), "deu+eng".into()];
        let recognise = Task::Recognise { program: "/usr/bin/tesseract".into(), arguments };
        for task in [Task::Pages, Task::Text, Task::Picture(17), recognise] {
            assert_eq!(Task::of_arguments(&task.to_arguments()), Some(task));
        }
        for wrong in [&["pages", "x"][..], &["picture", "x"], &["recognise"], &["dream"]] {
            let wrong: Vec<OsString> = wrong.iter().map(OsString::from).collect();
            assert_eq!(Task::of_arguments(&wrong), None, "{wrong:?}");
        }
    }
}
