// docs/commands.md: a section per group, with the usage, options and examples of each command.

const INTRODUCTION = `# Commands

\`npm run build\` makes this page from the definitions of the command line. \`slipway COMMAND --help\` prints the same. If you leave
out a target or a promotion, the command uses the only one of \`slipway.yaml\`. [Exit codes](exit-codes.md) says what each exit
code means.

Every command takes these options, too:

| option         | what it does                                                 |
| -------------- | ------------------------------------------------------------ |
| \`--json\`       | print one JSON object per line: [\`--json\`](json.md)          |
| \`-q, --quiet\`  | print only the result and errors |
| \`--verbose\`    | show stacks and causes of errors                             |
| \`--home <dir>\` | the folder for state (default: \`SLIPWAY_HOME\`, or \`.slipway\` beside \`slipway.yaml\`) |
| \`--help\`       | show the help of the command                                 |
`;

/** The options of all commands, documented once. */
const COMMON = new Set(['--json', '--quiet', '--verbose', '--home']);

/** The page, from the definitions of the command line. */
export function commandsPage(program) {
  const headings = [...new Set(program.commands.map((command) => command.helpGroup()))];
  const sections = headings.map((heading) => {
    const commands = program.commands.filter((command) => command.helpGroup() === heading);
    return [`## ${heading.replace(/:$/, '')}`, ...commands.flatMap(commandSections)].join('\n\n');
  });
  return `${[INTRODUCTION, ...sections].join('\n\n')}\n`;
}

function commandSections(command) {
  const below = command.commands.flatMap(commandSections);
  // A parent of several commands has no action, except `platform`.
  const isGroup = below.length > 0 && command.options.length === 0;
  return isGroup ? below : [commandSection(command), ...below];
}

function commandSection(command) {
  const options = command.options.filter(({ long, hidden }) => !hidden && !COMMON.has(long ?? ''));
  const rows = options.map((option) => `| \`${inCell(option.flags)}\` | ${inCell(whatOf(option))} |`);
  const { examples, rest } = afterHelp(command);
  return [
    `### \`slipway ${nameOf(command)}\``,
    `${command.description()}.`,
    fenced('text', `slipway ${nameOf(command)} ${command.usage()}`.trim()),
    ...(rows.length === 0 ? [] : [['| option | what it does |', '| --- | --- |', ...rows].join('\n')]),
    ...(examples === '' ? [] : [fenced('sh', examples)]),
    ...(rest === '' ? [] : [fenced('text', rest)]),
  ].join('\n\n');
}

function nameOf(command) {
  const { parent } = command;
  return parent?.parent == null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

function whatOf({ description, argChoices, defaultValue, defaultValueDescription, envVar, mandatory }) {
  const byDefault = defaultValueDescription ?? defaultValue;
  const extras = [
    ...(mandatory ? ['required'] : []),
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(typeof byDefault === 'string' || typeof byDefault === 'number' ? [`default: ${byDefault}`] : []),
    ...(envVar === undefined ? [] : [`environment: ${envVar}`]),
  ];
  return extras.length === 0 ? description : `${description} (${extras.join('; ')})`;
}

/** The text below the options in its help, such as examples. */
function afterHelp(command) {
  let whole = '';
  command.configureOutput({ writeOut: (text) => (whole += text), getOutHelpWidth: () => 1_000 });
  command.outputHelp();
  const after = whole.slice(command.helpInformation().length).split('\n');
  const isExample = (line) => line.startsWith('  $ ');
  return {
    examples: after
      .filter(isExample)
      .map((line) => line.slice('  $ '.length))
      .join('\n'),
    rest: after
      .filter((line) => !isExample(line) && line !== 'Examples:')
      .join('\n')
      .trim(),
  };
}

function fenced(language, text) {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

function inCell(text) {
  return text.replaceAll('|', '\\|');
}
