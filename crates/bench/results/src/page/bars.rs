//! Bar charts: a group of horizontal bars for each category, with the value
//! written at the end of each bar.

use super::axis::{Axis, Laid};
use super::frame;
use super::markup::{add, escape, px};

const BAR: f64 = 16.0;
const BETWEEN_GROUPS: f64 = 12.0;
const TOP: f64 = 6.0;
const BELOW: f64 = 40.0;
/// Room for the value behind the longest bar.
const VALUE_ROOM: f64 = 92.0;
/// About the width of a character, for the room that names need.
const CHARACTER: f64 = 6.9;

/// One bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Its length, in the unit of the axis.
    pub value: f64,
    /// Lowest and highest of repeated measurements, drawn as a whisker.
    pub spread: Option<(f64, f64)>,
}

impl From<f64> for Bar {
    fn from(value: f64) -> Self {
        Self {
            value,
            spread: None,
        }
    }
}

/// A chart of bars.
#[derive(Clone, Debug)]
pub struct BarChart {
    title: String,
    note: String,
    axis: Axis,
    categories: Vec<String>,
    series: Vec<(String, Option<usize>, Vec<Option<Bar>>)>,
    by_category: bool,
    wide: bool,
}

impl BarChart {
    /// A chart whose groups are the categories, from top to bottom.
    pub fn new(
        title: impl Into<String>,
        axis: Axis,
        categories: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            title: title.into(),
            note: String::new(),
            axis,
            categories: categories.into_iter().map(Into::into).collect(),
            series: Vec::new(),
            by_category: false,
            wide: false,
        }
    }

    /// A sentence below the title.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds one bar to each category, in their order; `None` where there is no figure.
    pub fn series(self, name: impl Into<String>, bars: Vec<Option<Bar>>) -> Self {
        self.add(name.into(), None, bars)
    }

    /// The same with a colour of the palette, so that a server keeps its colour in every chart.
    pub fn coloured_series(
        self,
        name: impl Into<String>,
        colour: usize,
        bars: Vec<Option<Bar>>,
    ) -> Self {
        self.add(name.into(), Some(colour), bars)
    }

    /// Gives each category a colour of its own, for a chart with one series.
    pub fn colour_by_category(mut self) -> Self {
        self.by_category = true;
        self
    }

    /// As wide as the page; otherwise charts that follow each other stand two abreast.
    pub fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    fn add(mut self, name: String, colour: Option<usize>, bars: Vec<Option<Bar>>) -> Self {
        self.series.push((name, colour, bars));
        self
    }

    pub(super) fn render(&self, out: &mut String) {
        frame::open(out, &self.title, &self.note, self.wide);
        let names = self.series.iter().enumerate();
        frame::legend(
            out,
            names.map(|(i, s)| (s.1.unwrap_or(i), s.0.as_str(), false)),
        );
        let width = if self.wide { 1180.0 } else { 580.0 };
        let longest = self
            .categories
            .iter()
            .map(|c| c.chars().count())
            .max()
            .unwrap_or(0);
        let left = (longest as f64 * CHARACTER + 16.0).clamp(40.0, width * 0.4);
        let group = self.series.len().max(1) as f64 * BAR + BETWEEN_GROUPS;
        let bottom = TOP + group * self.categories.len() as f64;
        let x = self.laid(left, width - VALUE_ROOM);
        add(
            out,
            format_args!(
                "<svg viewBox=\"0 0 {width} {}\" role=\"img\" aria-label=\"{}\" class=\"bars\">",
                px(bottom + BELOW),
                escape(&self.title),
            ),
        );
        let ticks = if self.wide { 10 } else { 5 };
        self.grid(out, &x, (left, width - 14.0, bottom), ticks);
        for row in 0..self.categories.len() {
            self.group(out, &x, row, (left, TOP + group * row as f64));
        }
        out.push_str("</svg></figure>");
    }

    /// The bars of a category, and its name at their left.
    fn group(&self, out: &mut String, x: &Laid, row: usize, (left, top): (f64, f64)) {
        let category = &self.categories[row];
        let height = self.series.len().max(1) as f64 * BAR + BETWEEN_GROUPS;
        let (name_x, name_y) = (px(left - 8.0), px(top + height / 2.0 + 4.0));
        let name = escape(&shortened(category, left));
        add(
            out,
            format_args!(
                "<text x=\"{name_x}\" y=\"{name_y}\" class=\"end category\">{name}</text>"
            ),
        );
        for (i, (name, colour, bars)) in self.series.iter().enumerate() {
            let Some(bar) = bars.get(row).copied().flatten() else {
                continue;
            };
            let colour = if self.by_category {
                row
            } else {
                colour.unwrap_or(i)
            };
            let y = top + BETWEEN_GROUPS / 2.0 + i as f64 * BAR;
            let title = format!("{category}, {name}");
            self.bar(out, x, bar, (left, y), &title, (colour, i));
        }
    }

    fn laid(&self, left: f64, right: f64) -> Laid {
        let values = self
            .series
            .iter()
            .flat_map(|s| &s.2)
            .flatten()
            .flat_map(|bar| {
                let (low, high) = bar.spread.unwrap_or((bar.value, bar.value));
                [bar.value, low, high]
            });
        Laid::new(&self.axis, values, left, right)
    }

    fn grid(
        &self,
        out: &mut String,
        x: &Laid,
        (left, right, bottom): (f64, f64, f64),
        ticks: usize,
    ) {
        out.push_str("<g class=\"axes\">");
        for (at, label) in x.ticks(ticks) {
            add(
                out,
                format_args!(
                    "<path d=\"M{0} {1}V{2}\"/><text x=\"{0}\" y=\"{3}\" class=\"middle\">{4}</text>",
                    px(at),
                    px(TOP),
                    px(bottom),
                    px(bottom + 16.0),
                    escape(&label),
                ),
            );
        }
        add(
            out,
            format_args!(
                "<path d=\"M{0} {1}V{2}\" class=\"base\"/><text x=\"{3}\" y=\"{4}\" class=\"name end\">{5}</text></g>",
                px(left),
                px(TOP),
                px(bottom),
                px(right),
                px(bottom + BELOW - 6.0),
                escape(&self.axis.label),
            ),
        );
    }

    fn bar(
        &self,
        out: &mut String,
        x: &Laid,
        bar: Bar,
        (left, y): (f64, f64),
        name: &str,
        (colour, place): (usize, usize),
    ) {
        let Some(end) = x.at(bar.value) else { return };
        let value = self.axis.unit.value(bar.value);
        let class = frame::colour_class(colour);
        add(
            out,
            format_args!(
                "<g class=\"series {class}\" data-i=\"{place}\"><title>{}: {}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
                escape(name),
                escape(&value),
                px(left),
                px(y + 1.0),
                px((end - left).max(1.0)),
                px(BAR - 3.0),
            ),
        );
        let mut text_at = end;
        let ends = bar
            .spread
            .and_then(|(low, high)| Some((x.at(low)?, x.at(high)?)));
        if let Some((low, high)) = ends {
            let middle = y + BAR / 2.0 - 0.5;
            add(
                out,
                format_args!(
                    "<path class=\"whisker\" d=\"M{0} {2}H{1}M{0} {3}v6M{1} {3}v6\"/>",
                    px(low),
                    px(high),
                    px(middle),
                    px(middle - 3.0),
                ),
            );
            text_at = text_at.max(high);
        }
        add(
            out,
            format_args!(
                "<text x=\"{}\" y=\"{}\">{}</text></g>",
                px(text_at + 6.0),
                px(y + BAR / 2.0 + 3.5),
                escape(&value)
            ),
        );
    }
}

/// A name that fits into the room there is.
fn shortened(name: &str, room: f64) -> String {
    let most = ((room - 12.0) / CHARACTER) as usize;
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars()
        .take(most.saturating_sub(1))
        .chain(['…'])
        .collect()
}
