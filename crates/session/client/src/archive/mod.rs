//! The file of an export: items one behind the other, each with its checksums, and an end mark
//! with their number, without which a file counts as cut off. `docs/sessions-migrate.md` describes
//! it byte by byte. Pure but for the reading and writing itself.

mod damage;
mod head;
mod reader;
mod writer;

pub use damage::Damage;
pub use reader::Reader;
pub use writer::Writer;

#[cfg(test)]
mod tests;
