//! Join of JavaScript modules into one script: a browser loads it at once, and also from a file, unlike a module.

/// Joins a JavaScript module and all that it imports: each module after those that it imports. `source` returns the
/// text of a module by its name without `.js`.
///
/// Imports and exports must be lines of their own. Only the last module may await at its top.
pub fn joined(main: &str, source: &impl Fn(&str) -> Option<&'static str>) -> String {
    let mut names = Vec::new();
    collect(main, source, &mut names);
    names.pop();
    let mut text: String = names.iter().filter_map(|name| Some(wrapped(name, source(name)?))).collect();
    let (body, _) = translated(source(main).unwrap_or_default());
    text.push_str(&format!("(async () => {{\n{body}}})();\n"));
    text
}

/// Adds the name of a JavaScript module behind those that it imports, unless it is in the list.
fn collect(name: &str, source: &impl Fn(&str) -> Option<&'static str>, names: &mut Vec<String>) {
    for import in source(name).unwrap_or_default().lines().filter_map(imported) {
        if !names.iter().any(|known| known == import) {
            collect(import, source, names);
        }
    }
    names.push(name.to_owned());
}

/// Returns a JavaScript module as a function that is called at once and returns the module's exports.
fn wrapped(name: &str, source: &str) -> String {
    let (body, exports) = translated(source);
    format!("const module_{name} = (() => {{\n{body}return {{ {} }};\n}})();\n", exports.join(", "))
}

/// Returns the text of a JavaScript module without imports and exports, and the names that it exports.
fn translated(source: &str) -> (String, Vec<&str>) {
    let (mut body, mut exports) = (String::new(), Vec::new());
    for line in source.lines() {
        let (line, is_export) = match line.strip_prefix("export ") {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        if is_export {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
            let is_keyword = |word: &&str| ["const", "let", "class", "function", "async", ""].contains(word);
            exports.extend(words.skip_while(is_keyword).take(1));
        }
        match static_import(line) {
            Some((names, module)) => {
                body.push_str(&format!("const {} = module_{module};", names.replace(" as ", ": ")));
            }
            None => {
                match imported(line) {
                    Some(module) => {
                        body.push_str(&line.replace(
                            &format!("await import(\"./{module}.js\")"),
                            &format!("module_{module}"),
                        ));
                    }
                    None => body.push_str(line),
                }
            }
        }
        body.push('\n');
    }
    (body, exports)
}

/// Returns the name of the JavaScript module that a line imports, statically or when it is needed.
fn imported(line: &str) -> Option<&str> {
    let later = || line.split_once("await import(\"./")?.1.split_once(".js\")").map(|(module, _)| module);
    static_import(line).map(|(_, module)| module).or_else(later)
}

/// Returns the names that a line of JavaScript imports, and their module.
fn static_import(line: &str) -> Option<(&str, &str)> {
    let (names, from) = line.strip_prefix("import ")?.split_once(" from \"./")?;
    Some((names, from.strip_suffix(".js\";")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_become_functions() {
        let source = "import { a, b as c } from \"./dom.js\";\n\nexport const d = 1;\n\
                      export async function e() {}\nexport class F {}\nexport let g = d;\nconst h = 2;\n\
                      const { i } = await import(\"./late.js\");\n";
        let want = "const module_x = (() => {\nconst { a, b: c } = module_dom;\n\nconst d = 1;\n\
                    async function e() {}\nclass F {}\nlet g = d;\nconst h = 2;\n\
                    const { i } = module_late;\nreturn { d, e, F, g };\n})();\n";
        assert_eq!(wrapped("x", source), want);
    }

    #[test]
    fn modules_come_after_those_that_they_import() {
        let source = |name: &str| match name {
            "main" => Some("import { b } from \"./b.js\";\nimport { a } from \"./a.js\";\nawait b(a);\n"),
            "b" => Some("import { a } from \"./a.js\";\nexport const b = a;\n"),
            "a" => Some("export const a = 1;\n"),
            _ => None,
        };
        let want = "const module_a = (() => {\nconst a = 1;\nreturn { a };\n})();\n\
                    const module_b = (() => {\nconst { a } = module_a;\nconst b = a;\nreturn { b };\n})();\n\
                    (async () => {\nconst { b } = module_b;\nconst { a } = module_a;\nawait b(a);\n})();\n";
        assert_eq!(joined("main", &source), want);
    }
}
