import type { Command } from "commander";

/** Commands whose first argument is an endpoint of the region. */
const TAKES_ENDPOINT = ["get", "describe", "logs", "decisions", "split", "rollback", "scale", "delete", "load"];
/** Endpoint names, one a line; silent where no region answers. */
const LIST_ENDPOINTS = "penstock get --names 2>/dev/null";

interface Completed {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly { readonly long: string; readonly description: string }[];
  readonly words: readonly string[];
}

/** The completion script of a shell, made from the commands themselves. */
export function completionScript(program: Command, shell: "bash" | "zsh" | "fish"): string {
  const commands = program.commands.map(
    (command): Completed => ({
      name: command.name(),
      description: command.description(),
      flags: command.options.flatMap(({ long, description }) => (long ? [{ long, description }] : [])),
      words: [
        ...command.commands.map((child) => child.name()),
        ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
      ],
    }),
  );
  switch (shell) {
    case "bash":
      return bashScript(commands);
    case "zsh":
      return zshScript(commands);
    case "fish":
      return fishScript(commands);
  }
}

function bashScript(commands: readonly Completed[]): string {
  const cases = commands.map(({ name, flags, words }) => {
    const known = [...words, ...flags.map((flag) => flag.long)].join(" ");
    return `    ${name}) words="${known}" ;;`;
  });
  return `# bash completion of penstock: source <(penstock completion bash)
_penstock_endpoints() { penstock "\${region[@]}" get --names 2>/dev/null; }
_penstock() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" command="" words="" at
  local -a region=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
      --url | --key) region+=("\${COMP_WORDS[at]}" "\${COMP_WORDS[at + 1]}"); ((at++)) ;;
      -*) ;;
      *) command="\${command:-\${COMP_WORDS[at]}}" ;;
    esac
  done
  if [ -z "$command" ]; then
    COMPREPLY=($(compgen -W "${commands.map((command) => command.name).join(" ")} --url --key --json --debug --help --version" -- "$cur"))
    return
  fi
  case "$command" in
${cases.join("\n")}
  esac
  case "$command:$cur" in
    *:-*) ;;
    ${TAKES_ENDPOINT.map((name) => `${name}:*`).join("|")}) words="$words $(_penstock_endpoints)" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _penstock penstock
`;
}

function zshScript(commands: readonly Completed[]): string {
  const cases = commands.map(({ name, flags, words }) => {
    const options = flags.map(({ long, description }) => `'${long}[${zshText(description)}]'`);
    const argument = TAKES_ENDPOINT.includes(name)
      ? "'1:endpoint:_penstock_endpoints'"
      : words.length > 0
        ? `'1:word:(${words.join(" ")})'`
        : "'*:file:_files'";
    return `    ${name}) _arguments ${[...options, argument].join(" ")} ;;`;
  });
  const list = commands.map(({ name, description }) => `    '${name}:${zshText(description)}'`);
  return `#compdef penstock
# zsh completion of penstock: source <(penstock completion zsh)
_penstock_endpoints() { compadd -- $(${LIST_ENDPOINTS}) }
_penstock() {
  local -a commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join("\n")}
  esac
}
compdef _penstock penstock
`;
}

/** Text inside single quotes and brackets of zsh. */
function zshText(text: string): string {
  return text.replaceAll("'", "").replaceAll(/[[\]:]/g, (character) => `\\${character}`);
}

function fishScript(commands: readonly Completed[]): string {
  const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap(({ name, description, flags, words }) => {
    const within = `complete -c penstock -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c penstock -n __fish_use_subcommand -a ${name} -d ${quote(description)}`,
      ...words.map((word) => `${within} -a ${word}`),
      ...flags.map((flag) => `${within} -l ${flag.long.slice(2)} -d ${quote(flag.description)}`),
    ];
  });
  return `# fish completion of penstock: penstock completion fish | source
function __penstock_endpoints; ${LIST_ENDPOINTS}; end
${lines.join("\n")}
complete -c penstock -f -n '__fish_seen_subcommand_from ${TAKES_ENDPOINT.join(" ")}' -a '(__penstock_endpoints)'
`;
}
