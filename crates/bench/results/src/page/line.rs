//! Line charts: one or more series over time, over percentiles, or over the
//! rungs of a ladder.

use super::axis::{Axis, Laid, Unit};
use super::frame::{self, Frame};
use super::markup::{add, escape, joined, px};
use super::path::{Place, area_path, line_path, step_path, thinned};

/// Points of one series that are drawn; more are thinned out, keeping extremes.
const MOST_POINTS: usize = 240;
/// Points of all series together.
const MOST_POINTS_IN_ALL: usize = 1200;
/// Up to so many points are marked by a dot each.
const MOST_MARKED: usize = 24;

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    band: Vec<(f64, f64, f64)>,
    colour: Option<usize>,
    dashed: bool,
    filled: bool,
    stepped: bool,
}

impl Series {
    /// A line through points in ascending order of x. A y that is not finite
    /// leaves a gap.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            band: Vec::new(),
            colour: None,
            dashed: false,
            filled: false,
            stepped: false,
        }
    }

    /// Shades what lies between a lower and an upper bound: `(x, lower, upper)`.
    pub fn band(mut self, band: Vec<(f64, f64, f64)>) -> Self {
        self.band = band;
        self
    }

    /// With this colour of the palette instead of its place's, so that a server
    /// keeps its colour in every chart.
    pub fn colour(mut self, index: usize) -> Self {
        self.colour = Some(index);
        self
    }

    /// Dashed, for what is of another kind than the rest.
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// With the area below it filled.
    pub fn filled(mut self) -> Self {
        self.filled = true;
        self
    }

    /// Everything that the y axis must have room for.
    fn heights(&self) -> impl Iterator<Item = f64> + '_ {
        let band = self.band.iter().flat_map(|b| [b.1, b.2]);
        self.points.iter().map(|p| p.1).chain(band)
    }

    /// As steps: each value holds from the x before up to its own (a histogram).
    pub fn stepped(mut self) -> Self {
        self.stepped = true;
        self
    }
}

/// A chart of lines.
#[derive(Clone, Debug)]
pub struct LineChart {
    title: String,
    note: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    wide: bool,
}

impl LineChart {
    /// An empty chart.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            note: String::new(),
            x,
            y,
            series: Vec::new(),
            wide: false,
        }
    }

    /// A sentence below the title.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds a line.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// As wide as the page; otherwise charts that follow each other stand two abreast.
    pub fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    /// Whether there is a point to draw.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    pub(super) fn render(&self, out: &mut String) {
        let series = self.thinned();
        let frame = Frame::of_lines(self.wide);
        let xs = series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
        let ys = series.iter().flat_map(Series::heights);
        let plot = Plot {
            x: Laid::new(&self.x, xs, frame.left, frame.right),
            y: Laid::new(&self.y, ys, frame.bottom, frame.top),
            unit: self.y.unit,
            floor: frame.bottom,
        };
        frame::open(out, &self.title, &self.note, self.wide);
        let names = self.series.iter().enumerate();
        frame::legend(
            out,
            names.map(|(i, s)| (colour(s, i), s.name.as_str(), s.dashed)),
        );
        let labels = x_labels(&series, &plot.x, self.x.unit, &self.x.label);
        frame.open_svg(out, &self.title, &labels);
        let (x_ticks, y_ticks) = (plot.x.ticks(frame.x_ticks), plot.y.ticks(5));
        frame.axes(out, &self.x.label, &x_ticks, &self.y.label, &y_ticks);
        for (i, one) in series.iter().enumerate() {
            plot.draw(out, one, i);
        }
        out.push_str("</svg></figure>");
    }

    /// Each series with no more points than can be told apart.
    fn thinned(&self) -> Vec<Series> {
        let most = MOST_POINTS
            .min(MOST_POINTS_IN_ALL / self.series.len().max(1))
            .max(20);
        let thin = |series: &Series| Series {
            points: thinned(&series.points, most),
            ..series.clone()
        };
        self.series.iter().map(thin).collect()
    }
}

fn colour(series: &Series, place: usize) -> usize {
    series.colour.unwrap_or(place)
}

/// Where the lines of a chart are drawn.
struct Plot {
    x: Laid,
    y: Laid,
    unit: Unit,
    floor: f64,
}

impl Plot {
    fn draw(&self, out: &mut String, series: &Series, place: usize) {
        let class = frame::colour_class(colour(series, place));
        let name = escape(&series.name);
        add(
            out,
            format_args!("<g class=\"series {class}\" data-i=\"{place}\" data-n=\"{name}\">"),
        );
        if !series.band.is_empty() {
            let band = band_path(series, &self.x, &self.y);
            add(out, format_args!("<path class=\"band\" d=\"{band}\"/>"));
        }
        let at = |&(x, y): &(f64, f64)| Some((self.x.at(x)?, self.y.at(y)?));
        let placed: Vec<Place> = series.points.iter().map(at).collect();
        self.line(out, series, &placed);
        if placed.len() <= MOST_MARKED && !series.stepped {
            for (x, y) in placed.iter().flatten() {
                let (x, y) = (px(*x), px(*y));
                add(out, format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3\"/>"));
            }
        }
        out.push_str("</g>");
    }

    /// The line itself, with the values at its points for the read-out.
    fn line(&self, out: &mut String, series: &Series, placed: &[Place]) {
        let line = if series.stepped {
            step_path(placed, self.floor)
        } else {
            line_path(placed)
        };
        if series.filled && !line.is_empty() {
            let area = area_path(&line, placed, self.floor);
            add(out, format_args!("<path class=\"area\" d=\"{area}\"/>"));
        }
        let shown = series
            .points
            .iter()
            .zip(placed)
            .filter(|(_, place)| place.is_some());
        let values: Vec<String> = shown.map(|(point, _)| self.unit.value(point.1)).collect();
        let values = joined(values.iter().map(String::as_str));
        let dash = if series.dashed { " dashed" } else { "" };
        add(
            out,
            format_args!("<path class=\"line{dash}\" d=\"{line}\" data-v=\"{values}\""),
        );
        if series.stepped {
            // Steps have more corners than there are values.
            add(out, format_args!(" data-p=\"{}\"", line_path(placed)));
        }
        out.push_str("/>");
    }
}

fn band_path(series: &Series, x: &Laid, y: &Laid) -> String {
    let upper = series
        .band
        .iter()
        .filter_map(|b| Some((x.at(b.0)?, y.at(b.2)?)));
    let lower = series
        .band
        .iter()
        .rev()
        .filter_map(|b| Some((x.at(b.0)?, y.at(b.1)?)));
    let points: Vec<_> = upper.chain(lower).map(Some).collect();
    line_path(&points) + "Z"
}

/// `12.3:500 connections|…`: where each x of any series lies and what it is.
fn x_labels(series: &[Series], x: &Laid, unit: Unit, label: &str) -> String {
    let mut places: Vec<(f64, f64)> = series
        .iter()
        .flat_map(|s| &s.points)
        .filter_map(|&(value, _)| Some((x.at(value)?, value)))
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.dedup_by(|a, b| px(a.0) == px(b.0));
    let labels: Vec<String> = places
        .iter()
        .map(|&(place, value)| format!("{}:{}", px(place), unit.value(value)))
        .collect();
    format!(
        "{}|{}",
        escape(label).replace('|', "¦"),
        joined(labels.iter().map(String::as_str))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> String {
        let mut out = String::new();
        LineChart::new(
            "t",
            Axis::new("time", Unit::Seconds),
            Axis::new("rate", Unit::PerSecond),
        )
        .series(Series::new("a", points))
        .render(&mut out);
        out
    }

    #[test]
    fn a_gap_lifts_the_pen() {
        let out = chart(vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0)]);
        let path = out.split("class=\"line\" d=\"").nth(1).unwrap_or("");
        let path = path.split('"').next().unwrap_or("");
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 1, "{path}");
    }

    #[test]
    fn values_and_coordinates_go_together() {
        let out = chart(vec![(0.0, 1.0), (1.0, f64::INFINITY), (2.0, 3.0)]);
        assert!(out.contains("data-v=\"1.00/s|3.00/s\""), "{out}");
    }
}
