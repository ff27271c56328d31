//! Which paths a piece of code names: in types, expressions and patterns, in the words of macro calls, and in the strings of
//! attributes (`#[serde(with = "…")]`).

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, ItemUse, Macro, Meta, Path, Stmt, TraitItem, Type, UseTree, Visibility};

use super::module_tree::{Import, Module, Written, only_for_tests};

/// Enters an item into its module: its name, its imports, the paths in it.
pub(super) fn of_item(item: &Item, module: &mut Module) {
    if attributes(item).is_some_and(only_for_tests) {
        return;
    }
    if let Some(name) = name(item) {
        if matches!(item, Item::Macro(_)) {
            module.macros.insert(name.clone());
        }
        module.items.insert(name);
    }
    Reader { module }.visit_item(item);
}

/// Walks code; items inside functions count as their module's.
struct Reader<'a> {
    module: &'a mut Module,
}

impl Reader<'_> {
    fn import(&mut self, tree: &UseTree, before: &Written, public: bool) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Written>();
        let (name, target) = match tree {
            UseTree::Path(path) => return self.import(&path.tree, &with(&path.ident), public),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(tree, before, public)),
            UseTree::Glob(_) => (None, before.clone()),
            UseTree::Name(name) if name.ident == "self" => (before.last().cloned(), before.clone()),
            UseTree::Name(name) => (Some(name.ident.to_string()), with(&name.ident)),
            UseTree::Rename(rename) if rename.ident == "self" => (Some(rename.rename.to_string()), before.clone()),
            UseTree::Rename(rename) => (Some(rename.rename.to_string()), with(&rename.ident)),
        };
        self.module.imports.push(Import { name, target, public });
    }

    fn mention(&mut self, written: Written) {
        // `self`, `Self`, `super` alone are no path to anything.
        if written.len() > 1 || !["self", "Self", "super", "crate"].contains(&written[0].as_str()) {
            self.module.mentions.insert(written);
        }
    }

    fn call(&mut self, macro_path: &Written) {
        if let [name] = macro_path.as_slice() {
            self.module.calls.insert(name.clone());
        }
    }

    /// What cannot be parsed, as in the calls of macros: paths stand out there, too.
    fn tokens(&mut self, mut cursor: Cursor<'_>) {
        while !cursor.eof() {
            if let Some((inside, _, _, after)) = cursor.any_group() {
                self.tokens(inside);
                cursor = after;
            } else if let Some((written, after)) = path_at(cursor) {
                if after.punct().is_some_and(|(mark, _)| mark.as_char() == '!') {
                    self.call(&written);
                }
                self.mention(written);
                cursor = after;
            } else if let Some(after) = member(cursor) {
                cursor = after;
            } else if let Some((literal, after)) = cursor.literal() {
                self.words_of(&literal.to_string());
                cursor = after;
            } else {
                cursor = cursor.token_tree().map_or_else(Cursor::empty, |(_, after)| after);
            }
        }
    }

    /// A string that is a path as a whole names what it leads to.
    fn words_of(&mut self, literal: &str) {
        let inside = literal.trim_matches('"');
        if inside.contains("::")
            && let Ok(path) = syn::parse_str::<Path>(inside)
        {
            self.mention(written(&path));
        }
    }
}

/// What stands behind a dot is a field or a method.
fn member(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    let (dot, cursor) = cursor.punct()?;
    let (_, after) = cursor.ident()?;
    (dot.as_char() == '.').then_some(after)
}

/// A path of single words at the beginning of these tokens.
fn path_at(cursor: Cursor<'_>) -> Option<(Written, Cursor<'_>)> {
    let (first, mut after) = cursor.ident()?;
    let mut written = vec![first.to_string()];
    while let Some(next) = double_colon(after)
        && let Some((name, next)) = next.ident()
    {
        written.push(name.to_string());
        after = next;
    }
    Some((written, after))
}

fn double_colon(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    let (first, cursor) = cursor.punct()?;
    let (second, cursor) = cursor.punct()?;
    (first.as_char() == ':' && second.as_char() == ':').then_some(cursor)
}

fn written(path: &Path) -> Written {
    let outside = path.leading_colon.iter().map(|_| String::new());
    outside.chain(path.segments.iter().map(|segment| segment.ident.to_string())).collect()
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).is_some_and(only_for_tests) {
            return;
        }
        match item {
            Item::Verbatim(unknown) => self.tokens(TokenBuffer::new2(unknown.clone()).begin()),
            item => visit::visit_item(self, item),
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let outside = item.leading_colon.iter().map(|_| String::new()).collect();
        self.import(&item.tree, &outside, !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            ImplItem::Verbatim(unknown) => return self.tokens(TokenBuffer::new2(unknown.clone()).begin()),
            _ => &Vec::new(),
        };
        if !only_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes = match item {
            TraitItem::Const(item) => &item.attrs,
            TraitItem::Fn(item) => &item.attrs,
            TraitItem::Type(item) => &item.attrs,
            TraitItem::Macro(item) => &item.attrs,
            TraitItem::Verbatim(unknown) => return self.tokens(TokenBuffer::new2(unknown.clone()).begin()),
            _ => &Vec::new(),
        };
        if !only_for_tests(attributes) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes = match statement {
            Stmt::Local(local) => &local.attrs,
            Stmt::Macro(call) => &call.attrs,
            Stmt::Expr(Expr::Block(block), _) => &block.attrs,
            _ => &Vec::new(),
        };
        if !only_for_tests(attributes) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Verbatim(unknown) => self.tokens(TokenBuffer::new2(unknown.clone()).begin()),
            expression => visit::visit_expr(self, expression),
        }
    }

    fn visit_type(&mut self, named: &'ast Type) {
        match named {
            Type::Verbatim(unknown) => self.tokens(TokenBuffer::new2(unknown.clone()).begin()),
            named => visit::visit_type(self, named),
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !only_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !only_for_tests(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !only_for_tests(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !only_for_tests(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    /// `pub(in crate::a)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast Path) {
        self.mention(written(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.call(&written(&call.path));
        self.tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(TokenBuffer::new2(list.tokens.clone()).begin());
        }
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn attributes(item: &Item) -> Option<&[Attribute]> {
    let attributes = match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return None,
    };
    Some(attributes)
}
