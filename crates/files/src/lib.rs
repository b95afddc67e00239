//! Static files: what a path means below a root, and how a file is described.
//!
//! ```text
//!  path of the request ─▶ Relative ─▶ find (try_files, index) ─▶ Answer: a file, a directory, …
//!                                        └─ Root: nothing outside of it is ever opened
//! ```
//!
//! There is file system I/O here, and no connection: what becomes of an answer is the proxy's.

pub mod describe;
mod find;
pub mod listing;
mod path;
mod root;
mod stamp;
pub mod types;
mod walk;

pub use find::{Answer, Found, find, open_again};
pub use path::{Doubtful, Relative};
pub use root::{Root, Unopened};
pub use stamp::Stamp;
