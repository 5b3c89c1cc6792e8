//! An item of the page, in the list and in its expanded form. The details of items that few people expand are
//! compressed in the page, many together, and its script inserts them when an item is expanded. So a page of thousands
//! of items stays small, and a browser opens it at once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::foreign::text;
use crate::{ItemView, brief, safe};

/// The details of an item: as HTML, or the number of the pack that contains them.
pub(super) type Placed = Result<String, usize>;

/// The HTML of an item; `anchor` is its index among all items of the page.
pub(super) fn item(item: &ItemView<'_>, anchor: usize, details: &Placed) -> String {
    let mut to = String::from("<details class=\"item");
    if item.against > 0 {
        to.push_str(" against");
    }
    if item.failed > 0 {
        to.push_str(" failing");
    }
    let _ = write!(to, "\" id=\"item-{anchor}\"");
    if let Err(pack) = details {
        let _ = write!(to, " data-pack=\"{pack}\"");
    }
    to.push_str(">\n<summary><span class=\"name\">");
    text(&mut to, &safe::cut_middle(item.name, 120));
    to.push_str("</span>\n");
    for signal in &item.signals {
        let percent = (signal.value.unwrap_or(0.0) * 1000.0).round() / 10.0;
        let _ = write!(
            to,
            "<span class=\"mini\"><i style=\"--w:{percent:?}%\"></i>"
        );
        text(&mut to, signal.name);
        to.push_str(" <b>");
        text(&mut to, &signal.value.map_or_else(|| "–".to_owned(), brief));
        let _ = writeln!(to, "</b> <small>n={}</small></span>", signal.n);
    }
    to.push_str("<span class=\"tags\">");
    for (is_good, tag) in &item.tags {
        let class = if *is_good { "on" } else { "off" };
        let _ = write!(to, "<span class=\"tag {class}\">");
        text(&mut to, tag);
        to.push_str("</span>");
    }
    to.push_str("</span></summary>\n<div class=\"inside\">\n");
    if let Ok(details) = details {
        to.push_str(details);
    }
    to.push_str("\n</div>\n</details>");
    to
}

/// How many items, the worst of the page, have their details in it as plain HTML.
const PLAIN: usize = 200;
/// How many items have their details compressed together. Items of one run are similar, so together they take far less
/// space; a browser unpacks this many within a few milliseconds.
const TOGETHER: usize = 50;

/// The packs of a page that is being written.
#[derive(Default)]
pub(super) struct DetailPacks {
    /// The number of items so far.
    items: usize,
    /// The number of packs that are written.
    written: usize,
    /// The HTML of the details of each item that waits for its pack, by the index of the item on the page.
    waiting: BTreeMap<usize, String>,
}

impl DetailPacks {
    /// Takes the details of the next item. Returns the details if they stay in the page as plain HTML; otherwise the
    /// number of the pack that contains them.
    pub(super) fn place(&mut self, anchor: usize, details: String) -> Result<String, usize> {
        self.items += 1;
        if self.items <= PLAIN {
            return Ok(details);
        }
        self.waiting.insert(anchor, details);
        Err(self.written)
    }

    /// Writes the pack if it is full, or, at the end of a list of items, the pack that was begun. Fails if the writer
    /// fails.
    pub(super) fn write(&mut self, to: &mut dyn Write, is_end: bool) -> io::Result<()> {
        let is_due = is_end || self.waiting.len() >= TOGETHER;
        if !is_due || self.waiting.is_empty() {
            return Ok(());
        }
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        // The data are passed in one write, because otherwise JSON is written in pieces of a few bytes, and the encoder
        // clears its buffer for each write.
        packed.write_all(&serde_json::to_vec(&self.waiting)?)?;
        let packed = STANDARD.encode(packed.finish()?);
        // The pack has its own line.
        writeln!(
            to,
            "\n<template id=\"pack-{}\">{packed}</template>",
            self.written
        )?;
        self.written += 1;
        self.waiting.clear();
        Ok(())
    }

    /// The number of items whose details are in the page as plain HTML, if those of others are packed.
    pub(super) fn plain(&self) -> Option<usize> {
        (self.items > PLAIN).then_some(PLAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_items_stand_as_they_are_and_the_details_of_all_others_come_back_from_their_packs()
    {
        let (mut packs, mut page) = (DetailPacks::default(), Vec::new());
        let count = PLAIN + 2 * TOGETHER + 7;
        let mut packed = Vec::new();
        for item in 0..count {
            let details = format!("<p>ash {item}</p>");
            match packs.place(item, details.clone()) {
                Ok(plain) => assert!(item < PLAIN && plain == details),
                Err(pack) => {
                    assert_eq!(pack, (item - PLAIN) / TOGETHER);
                    packed.push((item, details));
                }
            }
            packs.write(&mut page, false).expect("memory takes all");
        }
        packs.write(&mut page, true).expect("memory takes all");
        let written = page.len();
        packs.write(&mut page, true).expect("memory takes all");
        assert_eq!(page.len(), written, "an empty pack is not written");
        let page = String::from_utf8(page).expect("a page is text");
        assert_eq!(page.matches("</template>").count(), 3);
        assert_eq!(packed.len(), 2 * TOGETHER + 7);
        assert_eq!(crate::fixture::unpacked(&page), packed);
        assert_eq!(packs.plain(), Some(PLAIN));
        assert_eq!(DetailPacks::default().plain(), None);
    }
}
