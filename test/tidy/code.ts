import ts from "typescript";
import type { Finding, Source } from "./source.ts";
import { lineOf, walk } from "./source.ts";

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 80;

/** Rooms that touch the world: clocks, timers and randomness are theirs alone; everyone else gets them by a port. */
const AT_THE_EDGE =
  /^(runtime\/(adapters|dataplane\/wire|node|serving|regions|packaging)\/|runtime\/operate\/console\/client\/|cli\/|test\/|examples\/)|\.test\.tsx?$/;
/** Where the environment may be read. */
const READS_ENV = /^(runtime\/regions\/|cli\/|test\/|examples\/)|\.test\.tsx?$/;

const BANNED_CALLS =
  /^(Date\.now|performance\.now|setTimeout|setInterval|setImmediate|Math\.random|crypto\.randomUUID|randomUUID|fetch)$/;

/** Files stay under 400 lines and functions under 80, so that one idea fits on a screen or two. */
export function checkSizes(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => {
    const findings: Finding[] = [];
    const lines = source.text.split("\n").length;
    if (lines > MAX_FILE_LINES) findings.push(at(source, 1, "file-size", `${lines} lines, at most ${MAX_FILE_LINES}`));
    walk(source.ast, (node) => {
      if (!ts.isFunctionLike(node) || isSuite(source, node)) return;
      const start = source.ast.getLineAndCharacterOfPosition(node.getStart(source.ast)).line;
      const length = source.ast.getLineAndCharacterOfPosition(node.getEnd()).line - start + 1;
      if (length > MAX_FUNCTION_LINES) {
        findings.push(at(source, start + 1, "function-size", `${length} lines, at most ${MAX_FUNCTION_LINES}`));
      }
    });
    return findings;
  });
}

/** Clocks, timers, randomness, environment, network and console are used only at the edge. */
export function checkBannedCalls(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => {
    const findings: Finding[] = [];
    walk(source.ast, (node) => {
      const name = calledName(node);
      if (name === null) return;
      const edge = AT_THE_EDGE.test(source.path);
      if (!edge && (BANNED_CALLS.test(name) || name.startsWith("console."))) {
        findings.push(
          at(source, lineOf(source, node), "banned-call", `${name} belongs at the edge; take it by a port`),
        );
      }
      if (name === "process.env" && !READS_ENV.test(source.path)) {
        findings.push(
          at(source, lineOf(source, node), "banned-call", "process.env is read in runtime/regions and cli only"),
        );
      }
    });
    return findings;
  });
}

/** Nothing of one machine or of a registry, and no leftovers, stand in the text. */
export function checkText(files: readonly { readonly path: string; readonly text: string }[]): Finding[] {
  const marks: readonly { readonly rule: string; readonly pattern: RegExp }[] = [
    {
      rule: "leftover",
      pattern: new RegExp(`\\b(${["TO", "DO"].join("")}|${["FIX", "ME"].join("")}|${"X".repeat(3)})\\b`),
    },
    { rule: "focused-test", pattern: /\b(it|test|describe)\.(only|todo)\(/ },
    {
      rule: "registry-host",
      pattern: new RegExp(
        [
          "registry\\.npmjs",
          "pypi\\.org",
          "files\\.pythonhosted",
          "proxy\\.golang",
          "deb\\.debian",
          "crates\\.io",
        ].join("|"),
      ),
    },
    { rule: "machine-path", pattern: new RegExp(`(^|[\\s"'\`(=])/(${["wo", "rk"].join("")}|root)/`) },
  ];
  return files.flatMap((file) =>
    file.text
      .split("\n")
      .flatMap((line, index) =>
        marks
          .filter((mark) => mark.pattern.test(line))
          .map((mark) => ({ rule: mark.rule, path: file.path, line: index + 1, says: line.trim().slice(0, 100) })),
      ),
  );
}

/** The exported names of a file, with their lines; a type that the file's own exports use counts as part of them and is left out. */
export function exportsOf(source: Source): { name: string; line: number }[] {
  return source.ast.statements.flatMap((statement) => {
    const line = lineOf(source, statement);
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    if (!modifiers.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (modifiers.some((modifier) => modifier.kind === ts.SyntaxKind.DefaultKeyword))
      return [{ name: "default", line }];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap((declaration) =>
        ts.isIdentifier(declaration.name) ? [{ name: declaration.name.text, line }] : [],
      );
    }
    const named = statement as ts.Statement & { name?: ts.Identifier };
    if (!named.name || (isType(statement) && isMentionedTwice(source, named.name.text))) return [];
    return [{ name: named.name.text, line }];
  });
}

/** Exported names carry a docstring that says what they are. */
export function checkDocstrings(sources: readonly Source[]): Finding[] {
  return sources
    .filter((source) => /^(runtime|cli)\//.test(source.path) && !source.path.endsWith(".test.ts"))
    .flatMap((source) =>
      source.ast.statements
        .filter(
          (statement) =>
            ts.canHaveModifiers(statement) &&
            ts.getModifiers(statement)?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword),
        )
        .filter((statement) => ts.getJSDocCommentsAndTags(statement).length === 0)
        .map((statement) => at(source, lineOf(source, statement), "docstring", "an exported name has no docstring")),
    );
}

function isType(statement: ts.Statement): boolean {
  return ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
}

function isMentionedTwice(source: Source, name: string): boolean {
  let mentions = 0;
  walk(source.ast, (node) => {
    if (ts.isIdentifier(node) && node.text === name) mentions++;
  });
  return mentions > 1;
}

/** The callback of a describe block is a list of tests, not a function in the sense of the size rule. */
function isSuite(source: Source, node: ts.SignatureDeclaration): boolean {
  const call = node.parent;
  return ts.isCallExpression(call) && /^describe\b/.test(call.expression.getText(source.ast));
}

function calledName(node: ts.Node): string | null {
  if (ts.isCallExpression(node)) return node.expression.getText();
  if (ts.isNewExpression(node) && node.expression.getText() === "Date" && !node.arguments?.length) return "Date.now";
  if (ts.isPropertyAccessExpression(node) && node.getText() === "process.env") return "process.env";
  return null;
}

function at(source: Source, line: number, rule: string, says: string): Finding {
  return { rule, path: source.path, line, says };
}
