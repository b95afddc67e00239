//! A file that is there only when it is whole: written under another name, then renamed. Only its
//! owner may read it, for who has a visitor's session is that visitor.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file under way; dropped before it is kept, it is removed.
pub struct Save {
    path: PathBuf,
    under_way: PathBuf,
    file: BufWriter<File>,
    is_kept: bool,
}

impl Save {
    /// Begins `PATH.new`. What lies at `path` stays until [`Save::keep`].
    ///
    /// # Errors
    /// When the file cannot be made, or what lies there is no file: a device or a link would be
    /// replaced.
    pub fn create(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|seen| !seen.is_file()) {
            let words = "it is there and is no ordinary file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let mut under_way = path.as_os_str().to_owned();
        under_way.push(".new");
        let under_way = PathBuf::from(under_way);
        match fs::remove_file(&under_way) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&under_way)?;
        Ok(Self {
            path: path.to_owned(),
            under_way,
            file: BufWriter::with_capacity(256 << 10, file),
            is_kept: false,
        })
    }

    /// Puts the file in its place, on the disk for good.
    ///
    /// # Errors
    /// When it cannot be written to its end or renamed.
    pub fn keep(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.under_way, &self.path)?;
        self.is_kept = true;
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Write for Save {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Save {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nobody is left to be told if this fails; the next export removes it as well.
            let _ = fs::remove_file(&self.under_way);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_given_up_leaves_the_old_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let mut save = Save::create(&path).unwrap();
        save.write_all(b"half").unwrap();
        drop(save);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut save = Save::create(&path).unwrap();
        save.write_all(b"whole").unwrap();
        save.keep().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(Save::create(folder.path()).is_err());
        assert!(Save::create(Path::new("/dev/null")).is_err());
    }
}
