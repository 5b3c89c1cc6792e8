//! An item of the page, as it is listed and as it opens.

use std::fmt::Write as _;

use super::foreign::text;
use crate::{ItemView, brief, safe};

/// The details of an item: as HTML, or the pack that holds them.
pub(super) type Placed = Result<String, usize>;

/// The HTML of an item; `anchor` is its place among all items of the page.
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
    text(&mut to, &safe::cut(item.name, 120));
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
