//! Draws curves as SVG that can be read in a repository.

use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 48.0;
const LINES: u32 = 4;

#[derive(Debug)]
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: &'a str,
    pub(crate) up: &'a str,
    pub(crate) scale: Scale,
    pub(crate) points: Vec<(f64, f64)>,
    /// The value that the curve should not exceed.
    pub(crate) target: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.max(1.0).log10(),
        }
    }
}

impl Chart<'_> {
    pub(crate) fn svg(&self) -> String {
        let across: Vec<f64> = self.points.iter().map(|(x, _)| self.scale.place(*x)).collect();
        let (first, last) = bounds(&across);
        let highest = self.points.iter().map(|(_, y)| *y).chain(self.target).fold(0.0, f64::max);
        let top = if highest > 0.0 { highest * 1.15 } else { 1.0 };
        let x = |value: f64| {
            LEFT + (self.scale.place(value) - first) / (last - first) * (WIDTH - LEFT - RIGHT)
        };
        let y = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);

        // Writing to a string cannot fail.
        let mut svg = String::new();
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\" fill=\"#444\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" fill=\"#111\">{}</text>\n\
             <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            self.title,
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            self.across,
        );
        for line in 0..=LINES {
            let value = top * f64::from(line) / f64::from(LINES);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {0:.1}H{1}\" stroke=\"#ddd\"/>\
                 <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{value:.1}</text>",
                y(value),
                WIDTH - RIGHT,
                LEFT - 6.0,
                y(value) + 4.0,
            );
        }
        let _ = writeln!(svg, "<text x=\"6\" y=\"{:.0}\">{}</text>", TOP - 8.0, self.up);
        if let Some(target) = self.target {
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {0:.1}H{1}\" stroke=\"#c33\" stroke-dasharray=\"5 4\"/>\
                 <text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\" fill=\"#c33\">target</text>",
                y(target),
                WIDTH - RIGHT,
                y(target) - 4.0,
            );
        }
        let mut path = String::new();
        for (index, (at, value)) in self.points.iter().enumerate() {
            let _ = write!(
                path,
                "{}{:.1} {:.1}",
                if index == 0 { 'M' } else { 'L' },
                x(*at),
                y(*value)
            );
        }
        let _ =
            writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"#26c\" stroke-width=\"2\"/>");
        // Names below the axis are written only if they do not overlap.
        let every = self.points.len().div_ceil(8).max(1);
        for (index, (at, value)) in self.points.iter().enumerate() {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"#26c\"/>",
                x(*at),
                y(*value)
            );
            if index % every == 0 {
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{at}</text>",
                    x(*at),
                    HEIGHT - BOTTOM + 18.0,
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The smallest and the largest value. The range always has a width.
fn bounds(values: &[f64]) -> (f64, f64) {
    let first = values.iter().copied().fold(f64::INFINITY, f64::min);
    let last = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if first < last { (first, last) } else { (first - 1.0, first + 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> String {
        let (title, across, up) = ("cost", "turns", "ms");
        let scale = Scale::Logarithmic;
        Chart { title, across, up, scale, points, target: Some(2.0) }.svg()
    }

    #[test]
    fn each_point_is_drawn_within_the_frame() {
        let svg = chart(vec![(10.0, 1.0), (1_000.0, 1.2), (100_000.0, 1.5)]);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("<circle cx=\"64.0\"") && svg.contains("<circle cx=\"616.0\""));
        assert!(svg.contains("target") && !svg.contains("NaN"));
    }

    #[test]
    fn a_single_point_is_no_division_by_nothing() {
        assert!(!chart(vec![(10.0, 0.0)]).contains("NaN"));
    }
}
