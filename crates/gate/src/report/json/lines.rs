//! JSON that is broken into lines down to a depth, and compact below it.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Spaces for each level.
const INDENT: &str = "  ";

/// Writes line breaks in the outer levels only.
pub(super) struct OuterLines {
    /// The number of levels with line breaks.
    most: usize,
    /// The current level, 0 outside of everything.
    depth: usize,
    /// Whether the current value has no content yet.
    is_empty: bool,
}

impl OuterLines {
    /// Breaks lines in this many levels, for a value at this depth of its document.
    pub(super) const fn within(depth: usize, most: usize) -> Self {
        Self {
            most,
            depth,
            is_empty: true,
        }
    }

    fn is_broken(&self) -> bool {
        self.depth <= self.most
    }

    fn line<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        to.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| to.write_all(INDENT.as_bytes()))
    }

    fn begin<W: ?Sized + Write>(&mut self, to: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        to.write_all(sign)
    }

    fn next<W: ?Sized + Write>(&self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        if self.is_broken() {
            self.line(to)
        } else {
            Ok(())
        }
    }

    fn end<W: ?Sized + Write>(&mut self, to: &mut W, sign: &[u8]) -> io::Result<()> {
        let breaks = self.is_broken() && !self.is_empty;
        self.depth -= 1;
        if breaks {
            self.line(to)?;
        }
        // The value that ends here is content of the value around it.
        self.is_empty = false;
        to.write_all(sign)
    }
}

impl Formatter for OuterLines {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(if self.is_broken() { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_empty = false;
        Ok(())
    }
}
