//! What all charts have around them: title, legend, axes, grid.

use super::markup::{add, escape, px};

/// Colours that the style sheet defines; further series repeat them, dashed.
const COLOURS: usize = 10;

/// Measures of a chart, in pixels of its own coordinates.
pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x_ticks: usize,
}

impl Frame {
    pub(super) fn of_lines(wide: bool) -> Self {
        let (width, x_ticks) = if wide { (1180.0, 12) } else { (580.0, 7) };
        Self {
            width,
            height: 290.0,
            left: 74.0,
            right: width - 14.0,
            top: 26.0,
            bottom: 246.0,
            x_ticks,
        }
    }

    /// Begins the drawing, with what the read-out shows at each x.
    pub(super) fn open_svg(&self, out: &mut String, title: &str, x_labels: &str) {
        add(
            out,
            format_args!(
                "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" tabindex=\"0\" class=\"lines\" data-top=\"{}\" data-bottom=\"{}\" data-x=\"{x_labels}\">",
                self.width,
                self.height,
                escape(title),
                px(self.top),
                px(self.bottom),
            ),
        );
    }

    /// Grid, ticks and the labels of both axes.
    pub(super) fn axes(
        &self,
        out: &mut String,
        x_label: &str,
        x_ticks: &[(f64, String)],
        y_label: &str,
        y_ticks: &[(f64, String)],
    ) {
        let (left, right) = (px(self.left), px(self.right));
        out.push_str("<g class=\"axes\">");
        for (y, label) in y_ticks {
            add(
                out,
                format_args!(
                    "<path d=\"M{left} {0}H{right}\"/><text x=\"{1}\" y=\"{2}\" class=\"end\">{3}</text>",
                    px(*y),
                    px(self.left - 8.0),
                    px(*y + 4.0),
                    escape(label),
                ),
            );
        }
        for (x, label) in x_ticks {
            // A label at the edge would stand out of the figure.
            let near_edge = self.right - x < label.chars().count() as f64 * 3.0;
            let anchor = if near_edge { "end" } else { "middle" };
            add(
                out,
                format_args!(
                    "<path d=\"M{0} {1}v5\" class=\"tick\"/><text x=\"{0}\" y=\"{2}\" class=\"{4}\">{3}</text>",
                    px(*x),
                    px(self.bottom),
                    px(self.bottom + 19.0),
                    escape(label),
                    anchor,
                ),
            );
        }
        add(
            out,
            format_args!(
                "<path d=\"M{left} {0}H{right}\" class=\"base\"/><text x=\"4\" y=\"12\" class=\"name\">{1}</text><text x=\"{right}\" y=\"{2}\" class=\"name end\">{3}</text></g>",
                px(self.bottom),
                escape(y_label),
                px(self.height - 6.0),
                escape(x_label),
            ),
        );
    }
}

/// The class of a series: its colour, and dashes when the colours repeat.
pub(super) fn colour_class(index: usize) -> String {
    let again = if index >= COLOURS { " again" } else { "" };
    format!("c{}{again}", index % COLOURS)
}

/// Begins a figure; who calls this ends it.
pub(super) fn open(out: &mut String, title: &str, note: &str, wide: bool) {
    let class = if wide { "chart wide" } else { "chart" };
    add(
        out,
        format_args!(
            "<figure class=\"{class}\"><figcaption><b>{}</b>",
            escape(title)
        ),
    );
    if !note.is_empty() {
        add(out, format_args!("<span>{}</span>", escape(note)));
    }
    out.push_str("</figcaption>");
}

/// Names of series with their colours; a click hides and shows one. A single
/// series needs none: the title names it.
pub(super) fn legend<'a>(
    out: &mut String,
    series: impl ExactSizeIterator<Item = (usize, &'a str, bool)>,
) {
    if series.len() < 2 {
        return;
    }
    out.push_str("<div class=\"legend\">");
    for (i, (colour, name, dashed)) in series.enumerate() {
        let dash = if dashed { " dashed" } else { "" };
        add(
            out,
            format_args!(
                "<button type=\"button\" class=\"{}{dash}\" data-i=\"{i}\" aria-pressed=\"true\"><i></i>{}</button>",
                colour_class(colour),
                escape(name),
            ),
        );
    }
    out.push_str("</div>");
}
