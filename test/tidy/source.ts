import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import ts from "typescript";

/** One source file with what the rules look at. */
export interface Source {
  /** Path from the repository's root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly ast: ts.SourceFile;
  readonly imports: readonly Import[];
}

/** One import or re-export; `target` is a path from the root for relative ones, else the module's name. */
export interface Import {
  readonly target: string;
  readonly relative: boolean;
  readonly typeOnly: boolean;
  readonly names: readonly string[] | "all";
  readonly line: number;
}

/** A broken rule at a place. */
export interface Finding {
  readonly rule: string;
  readonly path: string;
  readonly line: number;
  readonly says: string;
}

/** Formats a finding as `file:line rule: says`. */
export function formatFinding(finding: Finding): string {
  return `${finding.path}:${finding.line} ${finding.rule}: ${finding.says}`;
}

/** Reads every TypeScript file below the given folders of `root`. */
export function readSources(root: string, folders: readonly string[]): Source[] {
  return folders
    .flatMap((folder) => listFiles(join(root, folder)))
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => parseSource(relative(root, file), readFileSync(file, "utf8")));
}

/** Parses one file; `path` is from the root. */
export function parseSource(path: string, text: string): Source {
  const ast = ts.createSourceFile(
    path,
    text,
    ts.ScriptTarget.Latest,
    true,
    path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  return { path, text, ast, imports: collectImports(path, ast) };
}

/** 1-based line of a node. */
export function lineOf(source: Source, node: ts.Node): number {
  return source.ast.getLineAndCharacterOfPosition(node.getStart(source.ast)).line + 1;
}

/** Calls `visit` on every node, parents first. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

function listFiles(folder: string): string[] {
  let entries: import("node:fs").Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
  return entries
    .filter((entry) => entry.name !== "node_modules" && !entry.name.startsWith("."))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? listFiles(join(folder, entry.name)) : [join(folder, entry.name)]));
}

function collectImports(path: string, ast: ts.SourceFile): Import[] {
  const found: Import[] = [];
  walk(ast, (node) => {
    const line = ast.getLineAndCharacterOfPosition(node.getStart(ast)).line + 1;
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      found.push({ ...resolved(path, node.moduleSpecifier.text), ...importedNames(node), line });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      const names =
        node.exportClause && ts.isNamedExports(node.exportClause)
          ? node.exportClause.elements.map((element) => (element.propertyName ?? element.name).text)
          : ("all" as const);
      found.push({ ...resolved(path, node.moduleSpecifier.text), typeOnly: node.isTypeOnly, names, line });
    } else if (isDynamicImport(node)) {
      found.push({ ...resolved(path, node.arguments[0].text), typeOnly: false, names: "all", line });
    } else if (
      ts.isImportTypeNode(node) &&
      ts.isLiteralTypeNode(node.argument) &&
      ts.isStringLiteral(node.argument.literal)
    ) {
      found.push({ ...resolved(path, node.argument.literal.text), typeOnly: true, names: "all", line });
    } else if (isModuleUrl(node)) {
      found.push({ ...resolved(path, node.arguments[0].text), typeOnly: false, names: "all", line });
    }
  });
  return found;
}

function isDynamicImport(node: ts.Node): node is ts.CallExpression & { arguments: [ts.StringLiteral] } {
  return (
    ts.isCallExpression(node) &&
    node.expression.kind === ts.SyntaxKind.ImportKeyword &&
    node.arguments[0] !== undefined &&
    ts.isStringLiteral(node.arguments[0])
  );
}

/** `new URL("./thread.ts", import.meta.url)`: how workers and child processes name their entry file. */
function isModuleUrl(node: ts.Node): node is ts.NewExpression & { arguments: readonly [ts.StringLiteral] } {
  return (
    ts.isNewExpression(node) &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === "URL" &&
    node.arguments?.[0] !== undefined &&
    ts.isStringLiteral(node.arguments[0]) &&
    /^\.\.?\/.*\.tsx?$/.test(node.arguments[0].text)
  );
}

function importedNames(node: ts.ImportDeclaration): { typeOnly: boolean; names: readonly string[] | "all" } {
  const clause = node.importClause;
  if (!clause) return { typeOnly: false, names: "all" };
  const typeOnly = clause.phaseModifier === ts.SyntaxKind.TypeKeyword;
  const bindings = clause.namedBindings;
  if (bindings && ts.isNamespaceImport(bindings)) return { typeOnly, names: "all" };
  const elements = bindings && ts.isNamedImports(bindings) ? [...bindings.elements] : [];
  const names = elements.map((element) => (element.propertyName ?? element.name).text);
  const allTypes = elements.length > 0 && !clause.name && elements.every((element) => element.isTypeOnly);
  return { typeOnly: typeOnly || allTypes, names: clause.name ? [...names, "default"] : names };
}

function resolved(from: string, specifier: string): { target: string; relative: boolean } {
  return specifier.startsWith(".")
    ? { target: normalize(join(dirname(from), specifier)), relative: true }
    : { target: specifier, relative: false };
}
