//! Which file answers: what is tried, indexes of directories, and what is found.

use std::os::fd::{AsFd, OwnedFd};

use forebay_config::settings::{Coding, Files};
use rustix::fs::{FileType, fstat};

use crate::path::Relative;
use crate::root::{Root, Unopened};
use crate::stamp::Stamp;

/// A regular file, open for reading.
#[derive(Debug)]
pub struct Found {
    /// Where it is below the root.
    pub path: Relative,
    /// It.
    pub file: OwnedFd,
    /// Its state when it was opened.
    pub stamp: Stamp,
}

/// What there is for a path.
#[derive(Debug)]
pub enum Answer {
    /// A file.
    File(Found),
    /// A directory that is asked for without the slash at its end.
    AddSlash,
    /// A directory that is listed.
    Listing(OwnedFd, Relative),
    /// A directory without an index, which is not listed.
    Directory,
    /// The status that the settings name as the last resort.
    Status(u16),
    /// No file.
    Nothing,
    /// It is there and may not be read.
    Forbidden,
    /// The system failed.
    Failed(Unopened),
}

/// What one candidate turned out to be.
enum Tried {
    Answer(Answer),
    /// A directory without an index.
    Directory,
    Missing,
}

/// Looks for the file of `asked` below `root`, whose open directory is `directory`.
///
/// `candidates` are the settings' `try_files` with their templates filled in, decoded paths or
/// `=STATUS`; empty: the path itself, then the directory of that name.
pub fn find(
    root: &Root,
    directory: &impl AsFd,
    settings: &Files,
    asked: &Relative,
    candidates: &[Vec<u8>],
) -> Answer {
    let search = Search {
        root,
        directory,
        settings,
        asked,
    };
    let mut is_directory = false;
    let mut note = |tried: Tried| match tried {
        Tried::Answer(answer) => Some(answer),
        Tried::Directory => {
            is_directory = true;
            None
        }
        Tried::Missing => None,
    };
    if candidates.is_empty()
        && let Some(answer) = note(search.path(asked))
    {
        return answer;
    }
    for candidate in candidates {
        if let Some(status) = status(candidate) {
            return Answer::Status(status);
        }
        let Ok(path) = Relative::of_decoded(candidate, settings.hidden) else {
            continue;
        };
        let tried = if path.is_directory() {
            search.directory(&path)
        } else {
            search.file(&path)
        };
        if let Some(answer) = note(tried) {
            return answer;
        }
    }
    if is_directory {
        Answer::Directory
    } else {
        Answer::Nothing
    }
}

/// The file at `path` as it is now, if it is a regular one that may be read.
pub fn open_again(root: &Root, directory: &impl AsFd, path: &Relative) -> Option<Found> {
    let file = root.open(directory, path.below()).ok()?;
    regular(file, path.clone())
}

impl Found {
    /// The file beside this one that holds it in `coding`.
    pub fn coded(&self, root: &Root, directory: &impl AsFd, coding: Coding) -> Option<Self> {
        let path = [self.path.as_path(), coding.suffix().as_bytes()].concat();
        let path = Relative::of_decoded(&path, true).ok()?;
        open_again(root, directory, &path)
    }
}

/// `=404`
fn status(candidate: &[u8]) -> Option<u16> {
    let digits = candidate.strip_prefix(b"=")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn regular(file: OwnedFd, path: Relative) -> Option<Found> {
    let stat = fstat(&file).ok()?;
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_regular.then(|| Found {
        path,
        file,
        stamp: Stamp::of(&stat),
    })
}

struct Search<'a, D> {
    root: &'a Root,
    directory: &'a D,
    settings: &'a Files,
    asked: &'a Relative,
}

impl<D: AsFd> Search<'_, D> {
    /// A path, whatever is there.
    fn path(&self, path: &Relative) -> Tried {
        if path.is_directory() {
            return self.directory(path);
        }
        match self.file(path) {
            Tried::Directory => {
                let slashed = [path.as_path(), b"/"].concat();
                match Relative::of_decoded(&slashed, true) {
                    Ok(slashed) => self.directory(&slashed),
                    Err(_) => Tried::Missing,
                }
            }
            tried => tried,
        }
    }

    /// A path that has to be a file.
    fn file(&self, path: &Relative) -> Tried {
        match self.root.open(self.directory, path.below()) {
            Ok(file) => self.opened(file, path),
            Err(Unopened::Missing) => Tried::Missing,
            Err(Unopened::Forbidden) if self.is_directory(path) => Tried::Directory,
            Err(Unopened::Forbidden) => Tried::Answer(Answer::Forbidden),
            Err(failed) => Tried::Answer(Answer::Failed(failed)),
        }
    }

    fn opened(&self, file: OwnedFd, path: &Relative) -> Tried {
        let kind = fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
        match kind {
            Ok(FileType::RegularFile) => match regular(file, path.clone()) {
                Some(found) => Tried::Answer(Answer::File(found)),
                None => Tried::Missing,
            },
            Ok(FileType::Directory) => Tried::Directory,
            // A pipe, a device or a socket is nobody's document.
            _ => Tried::Missing,
        }
    }

    /// A path that has to be a directory: its index, or its list.
    fn directory(&self, path: &Relative) -> Tried {
        for name in &self.settings.index {
            let index = [path.as_path(), name.as_bytes()].concat();
            let Ok(index) = Relative::of_decoded(&index, true) else {
                continue;
            };
            if index.is_directory() {
                continue;
            }
            if let Tried::Answer(answer) = self.file(&index) {
                return Tried::Answer(self.slashed(path, answer));
            }
        }
        let Ok(directory) = self.root.look(self.directory, path.below()) else {
            return Tried::Missing;
        };
        if !is_directory(&directory) {
            return Tried::Missing;
        }
        if !self.settings.listing {
            return Tried::Directory;
        }
        let answer = match self.root.open(self.directory, path.below()) {
            Ok(directory) => Answer::Listing(directory, path.clone()),
            Err(Unopened::Forbidden) => Answer::Forbidden,
            Err(Unopened::Missing) => return Tried::Missing,
            Err(failed) => Answer::Failed(failed),
        };
        Tried::Answer(self.slashed(path, answer))
    }

    /// The answer of a directory, unless it was asked for without its slash: relative links in it
    /// would be taken for those of the directory above.
    fn slashed(&self, path: &Relative, answer: Answer) -> Answer {
        let is_the_asked = path.below() == self.asked.below();
        let answers = matches!(answer, Answer::File(_) | Answer::Listing(..));
        if is_the_asked && answers && !self.asked.is_directory() {
            return Answer::AddSlash;
        }
        answer
    }

    fn is_directory(&self, path: &Relative) -> bool {
        let found = self.root.look(self.directory, path.below());
        found.is_ok_and(|found| is_directory(&found))
    }
}

fn is_directory(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}
