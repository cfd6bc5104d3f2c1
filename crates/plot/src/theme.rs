//! Colours of pictures that people with colour blindness can distinguish.

/// Theme of a picture: light or dark, which determines its colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Theme with dark lines on white, for paper.
    #[default]
    Light,
    /// Theme with bright lines on black, for screens.
    Dark,
}

/// Colour of a picture as red, green and blue: `0xRRGGBB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u32);

/// Colours of a picture's theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub background: Colour,
    pub text: Colour,
    /// Colour of the picture's secondary texts.
    pub faint: Colour,
    /// Colour of the horizontal lines at the numbers of an axis.
    pub grid: Colour,
    lines: [Colour; 7],
}

/// Dash patterns of lines that share a colour, by the number of earlier lines with that colour.
pub const DASHES: [&[f64]; 3] = [&[], &[7.0, 3.0], &[2.0, 2.0]];

impl Palette {
    /// Returns the colours of a theme. They are based on the palette of Okabe and Ito for figures. Colours with too
    /// low a contrast are darker than there on white, and lighter on black.
    pub fn for_theme(theme: Theme) -> Self {
        match theme {
            Theme::Light => Self {
                background: Colour(0xFF_FF_FF),
                text: Colour(0x1F_23_28),
                faint: Colour(0x59_63_6E),
                grid: Colour(0xE3_E6_EA),
                lines: [0x00_72_B2, 0xD5_5E_00, 0x00_8F_6B, 0xB8_5C_91, 0x3D_A0_DB, 0x4D_4D_4D, 0xC7_87_00]
                    .map(Colour),
            },
            Theme::Dark => Self {
                background: Colour(0x14_17_1B),
                text: Colour(0xE6_E9_ED),
                faint: Colour(0x9A_A4_AF),
                grid: Colour(0x2B_31_38),
                lines: [0x56_B4_E9, 0xE6_9F_00, 0x2F_C4_97, 0xE0_94_BF, 0xF0_E4_42, 0xFF_7F_3F, 0xC9_CE_D4]
                    .map(Colour),
            },
        }
    }

    /// Returns the colour and the dash pattern of a panel's line by its number.
    pub fn line(&self, number: usize) -> (Colour, &'static [f64]) {
        let (first, rest) = (number.checked_rem(self.lines.len()), number.checked_div(self.lines.len()));
        let colour = first.and_then(|place| self.lines.get(place)).copied().unwrap_or(self.text);
        (colour, rest.and_then(|place| DASHES.get(place)).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance of a colour, as WCAG 2 defines it in the section "relative luminance".
    fn luminance(Colour(rgb): Colour) -> f64 {
        let part = |shift: u32| {
            let part = f64::from(rgb >> shift & 0xFF) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
    }

    fn contrast(a: Colour, b: Colour) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn everything_stands_out_from_what_is_behind() {
        for theme in [Theme::Light, Theme::Dark] {
            let palette = Palette::for_theme(theme);
            for (colour, least) in [(palette.text, 7.0), (palette.faint, 4.5)] {
                assert!(contrast(colour, palette.background) >= least, "{theme:?} {colour:?}");
            }
            for number in 0..7 {
                let (colour, _) = palette.line(number);
                let contrast = contrast(colour, palette.background);
                assert!(contrast >= 2.8, "{theme:?} {colour:06X?}: {contrast}");
            }
        }
    }

    #[test]
    fn twenty_lines_are_told_apart() {
        let palette = Palette::for_theme(Theme::Light);
        for number in 0..20 {
            for other in 0..number {
                assert_ne!(palette.line(number), palette.line(other));
            }
        }
    }
}
