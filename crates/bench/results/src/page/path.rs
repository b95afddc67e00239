//! Points of a line as SVG paths, and as few of them as can be told apart.

use super::markup::{add, px};

/// A place in the coordinates of a chart; none leaves a gap.
pub(super) type Place = Option<(f64, f64)>;

pub(super) fn line_path(points: &[Place]) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    for point in points {
        if let Some((x, y)) = point {
            add(
                &mut path,
                format_args!("{}{} {}", if pen_down { "L" } else { "M" }, px(*x), px(*y)),
            );
        }
        pen_down = point.is_some();
    }
    path
}

pub(super) fn step_path(points: &[Place], floor: f64) -> String {
    let mut path = String::new();
    let mut before: Option<f64> = None;
    for &(x, y) in points.iter().flatten() {
        match before {
            Some(_) => add(&mut path, format_args!("V{}H{}", px(y), px(x))),
            None => add(
                &mut path,
                format_args!("M{} {}V{}", px(x), px(floor), px(y)),
            ),
        }
        before = Some(x);
    }
    if before.is_some() {
        add(&mut path, format_args!("V{}", px(floor)));
    }
    path
}

pub(super) fn area_path(line: &str, points: &[Place], floor: f64) -> String {
    let mut ends = points.iter().flatten();
    let (Some(first), last) = (ends.next(), ends.next_back()) else {
        return String::new();
    };
    let last = last.unwrap_or(first);
    format!(
        "{line}L{} {}L{} {}Z",
        px(last.0),
        px(floor),
        px(first.0),
        px(floor)
    )
}

/// At most so many points: of each stretch, the lowest and the highest.
pub(super) fn thinned(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil((most / 2).max(1));
    points.chunks(stretch).flat_map(extremes).collect()
}

fn extremes(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let by_y = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let (Some(&low), Some(&high)) = (points.iter().min_by(by_y), points.iter().max_by(by_y)) else {
        return Vec::new();
    };
    match low.0.total_cmp(&high.0) {
        std::cmp::Ordering::Less => vec![low, high],
        std::cmp::Ordering::Equal => vec![low],
        std::cmp::Ordering::Greater => vec![high, low],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_seconds_keeps_its_spike() {
        let mut points: Vec<_> = (0..3600).map(|i| (f64::from(i), 100.0)).collect();
        points[1801].1 = 900.0;
        let thin = thinned(&points, 240);
        assert!(thin.len() <= 240);
        assert!(thin.contains(&(1801.0, 900.0)));
    }
}
