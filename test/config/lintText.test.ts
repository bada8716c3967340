import { describe, expect, it } from 'vitest';

import { ResourceSpec } from '@slipway/contract/controlPlane/resourceSpec';
import type { ConfigProblem } from '../../src/config/configPlace.ts';
import { lintText } from '../../src/config/loadConfig.ts';
import { RESOURCES, UNUSED_RESOURCES } from '../../src/config/configWarnings.ts';

const RIGHT = `targets:
  staging:
    controlPlane: http://localhost:8000
    apiKey: { from: env:SLIPWAY_API_KEY }
    deployment: greeter
checks:
  - name: greets
    assistant: greeter
`;

/** A file with more fields of the target, from line 6. */
function withTarget(...fields: readonly string[]): string {
  return RIGHT.replace('checks:', [...fields.map((field) => `    ${field}`), 'checks:'].join('\n'));
}

const IMAGE = ['source: external_image', 'image: registry/greeter:1'] as const;

function told({ severity, line, column, path, message }: ConfigProblem): string {
  return `${severity} ${line}:${column} ${path}: ${message}`;
}

function problemsOf(text: string): readonly string[] {
  return lintText(text).problems.map(told);
}

it('a valid slipway.yaml has no problems', () => {
  const { config, problems } = lintText(RIGHT);
  expect(problems).toEqual([]);
  expect(config?.targets['staging']?.deployment).toBe('greeter');
});

it('rejects a name of a target that is too long for the names of files', () => {
  expect(problemsOf(RIGHT.replace('staging', 's'.repeat(128)))).toEqual([]);
  expect(problemsOf(RIGHT.replace('staging', 's'.repeat(129))).join()).toContain('128 at most');
});

it('reports the syntax error of a file, without its consequences', () => {
  const text = 'targets:\n  staging: { controlPlane: http://[::1]:4700, deployment: greeter }\n';
  expect(problemsOf(text)).toEqual(['error 2:35 : YAML: Unexpected flow-seq-start at node end']);
});

it('reports numbers that JSON does not have, which would become null', () => {
  const text = `${RIGHT}    input: { score: .nan, most: [1, -.inf], huge: 1e999 }\n`;
  const message = ': is no number that JSON has: write one, or text';
  expect(problemsOf(text)).toEqual([21, 37, 51].map((column) => `error 9:${column} ${message}`));
});

it('reports a target and a field of an input that the schema would leave out', () => {
  const text = `${RIGHT.replace('targets:', 'targets:\n  __proto__: { deployment: other }')}    input: { __proto__: 1 }\n`;
  const message = ': nothing can be named "__proto__": rename it';
  expect(problemsOf(text)).toEqual([`error 2:3 ${message}`, `error 10:14 ${message}`]);
});

it('reports checks that are no list', () => {
  const text = RIGHT.replace(/checks:[^]*/u, 'checks: { greets: { assistant: greeter } }\n');
  expect(problemsOf(text)).toEqual(['error 6:9 checks: expected a list']);
});

describe('a field without effect', () => {
  const PROMOTED = `${RIGHT}promotions: { p: { from: staging, to: production, checkEvery: 1m } }\n`.replace(
    'checks:',
    '  production: { controlPlane: "http://localhost:1", apiKey: { from: env:K }, deployment: d }\nchecks:',
  );

  it.each([
    [
      withTarget('resources: { cpu: 1 }'),
      'targets.staging.resources: has no effect: resources are only for source external_image',
    ],
    [
      withTarget(...IMAGE, 'resources: { executor_cpu: 1 }'),
      'targets.staging.resources.executor_cpu: the control plane’s contract marks it "do not use"',
    ],
    [
      withTarget(...IMAGE, 'resources: { memory_md: 512 }'),
      'targets.staging.resources.memory_md: the control plane’s contract has no resource of this name; did you mean "memory_mb"?',
    ],
    [
      withTarget('agentOrigins: ["https://*.run.app"]'),
      'targets.staging.agentOrigins.0: customers of run.app share this domain, and could receive the key: name your own host',
    ],
    [
      withTarget('onError: { then: stop, waitFor: 5m }'),
      'targets.staging.onError.waitFor: has no effect unless then is "wait"',
    ],
    [
      withTarget('soak: 5m').replace(/checks:[^]*/, ''),
      'targets.staging.soak: there are no checks to repeat: the revision is only seen to serve',
    ],
    [
      withTarget('freezes: [{ name: x, from: 2020-12-23, until: 2020-12-24 }]'),
      'targets.staging.freezes.0.until: has no effect: this time has passed',
    ],
    [
      `${withTarget(...IMAGE)}artifact: { buildCommand: make }\n`,
      'artifact.buildCommand: has no effect: no target’s source is built',
    ],
    [
      `${RIGHT}steps: { patch: { startToClose: 2m, scheduleToClose: 1m } }\n`,
      'steps.patch.startToClose: has no effect: scheduleToClose, the deadline of all attempts, is shorter',
    ],
    [
      `${RIGHT}steps: { deployed: { retry: { maximumAttempts: 3 } } }\n`,
      'steps.deployed.retry.maximumAttempts: has no effect: the step polls until its deadline. Set scheduleToClose instead',
    ],
    [
      RIGHT.replace(
        'checks:',
        '  copied: { controlPlane: "HTTP://127.0.0.1:8000/", apiKey: { from: env:K }, deployment: greeter }\nchecks:',
      ),
      'targets.copied.deployment: is that of targets.staging, too: both names mean one target, with one queue and one history',
    ],
    [PROMOTED, 'promotions.p.checkEvery: has no effect: the promotion has neither soak nor bake'],
  ])('is a warning in a valid file: $1', (text, expected) => {
    const { config, problems } = lintText(text);
    const told = problems.map(({ severity, path, message }) => `${severity} ${path}: ${message}`);
    expect(told).toEqual([`warning ${expected}`]);
    expect(config).toBeDefined();
  });

  it('is listed with the errors, in the order of the file', () => {
    const text = withTarget('resources: { cpu: 1 }').replace('assistant:', 'asistant:');
    expect(problemsOf(text)).toEqual([
      expect.stringContaining('warning 6:5 targets.staging.resources: '),
      expect.stringContaining('error 8:5 checks.0.assistant: is missing'),
      expect.stringContaining(
        'error 9:5 checks.0.asistant: unknown field "asistant"; did you mean "assistant"?',
      ),
    ]);
  });

  it('is found for every resource of the contract', () => {
    expect([...RESOURCES, ...UNUSED_RESOURCES].sort()).toEqual(Object.keys(ResourceSpec.shape).sort());
  });
});

describe('the excerpt of a problem', () => {
  function excerptsOf(text: string): readonly string[] {
    return lintText(text).problems.map(({ excerpt, column, length }) => {
      expect(excerpt.length).toBeGreaterThanOrEqual(column);
      return `${excerpt}\n${' '.repeat(column - 1)}${'^'.repeat(length)}`;
    });
  }

  it('has a caret below the invalid word', () => {
    expect(excerptsOf(RIGHT.replace('deployment: greeter', 'deploymnet: greeter'))).toEqual([
      '  staging:\n  ^^^^^^^',
      '    deploymnet: greeter\n    ^^^^^^^^^^',
    ]);
  });

  const KEY = 'apiKey: { from: env:SLIPWAY_API_KEY }';
  const NAME = 'deployment: greeter';

  it.each([
    ['in place of a reference', KEY, 'apiKey: { from: sk-verysecret }'],
    ['in place of what holds the reference', KEY, 'apiKey: sk-verysecret'],
    ['under a name that is misspelled', KEY, 'apiKye: sk-verysecret'],
    ['under a name that nobody knows', NAME, `${NAME}\n    bearer: sk-verysecret`],
    ['in a list of secrets', NAME, `${NAME}\n    secrets: [{ nam: A, value: sk-verysecret }]`],
    ['over several lines', KEY, 'apiKey: |\n      sk-verysecret\n      more'],
    ['in a URL', 'http://localhost:8000', 'http://ada:sk-verysecret@localhost'],
    ['where the file is no YAML', KEY, 'apiKey: { from: sk-verysecret'],
    ['twice in a file', KEY, 'apiKey: sk-verysecret\n    apiKey: sk-verysecret'],
  ])('never shows a secret that was written %s', (_where, wanted, written) => {
    const { problems } = lintText(RIGHT.replace(wanted, written));
    expect(problems).not.toEqual([]);
    expect(JSON.stringify(problems)).not.toContain('verysecret');
  });

  it('shows a reference, because it is not a secret', () => {
    const [problem] = lintText(
      RIGHT.replace('from: env:SLIPWAY_API_KEY', 'from: env:SLIPWAY_API_KEY, frm: a'),
    ).problems;
    expect(problem?.excerpt).toContain('env:SLIPWAY_API_KEY');
  });
});

describe('a step’s deadline', () => {
  const TWO = RIGHT.replace(
    /checks:[^]*/,
    'checks: [{ name: slow, assistant: a, timeout: 12m }, { name: quick, assistant: a }]\n',
  );

  it.each([
    ['check', 'startToClose', '12m', 'the check "slow" may take'],
    ['baseline', 'scheduleToClose', '1m', 'the check "slow" may take'],
    ['soak', 'startToClose', '13m', 'its checks together may take'],
    ['bake', 'startToClose', '12m30s', 'its checks together may take'],
  ])('shorter than a check is an error of steps.%s.%s with its place', (step, deadline, value, why) => {
    const lines = TWO.split('\n').length;
    const place = `${lines}:${`steps: { ${step}: { ${deadline}: `.length + 1}`;
    const expected = step === 'check' || step === 'baseline' ? '12m00s' : '13m00s';
    expect(problemsOf(`${TWO}steps: { ${step}: { ${deadline}: ${value} } }\n`)).toEqual([
      `error ${place} steps.${step}.${deadline}: expected more than the ${expected} that ${why}`,
    ]);
  });

  it('longer than its checks is valid', () => {
    expect(
      problemsOf(`${TWO}steps: { check: { startToClose: 13m }, soak: { startToClose: 14m } }\n`),
    ).toEqual([]);
  });
});

describe('a check that no run can pass, or every run passes', () => {
  const expecting = (expect: string): string => `${RIGHT}    expect: ${expect}\n`;
  const conversing = (...turns: readonly string[]): string =>
    `${RIGHT}    turns:\n${turns.map((turn) => `      - ${turn}\n`).join('')}`;

  it.each([
    ['{ number: { min: 3, max: 2 } }', 'number.min: no number is at least 3 and at most 2: swap min and max'],
    ['{ number: {} }', 'number: expected equals, min or max'],
    ['{ number: { tolerance: 1, min: 2 } }', 'number.tolerance: has no effect without equals'],
    ['{ number: { equals: 5, max: 4 } }', 'number.equals: lies outside of min and max'],
    ['{ number: { equals: 9007199254740993 } }', 'number.equals: has a whole number beyond 2^53'],
    ['{ path: id, equals: { id: 9007199254740993 } }', 'equals: has a whole number beyond 2^53'],
    [
      '{ tools: { calls: [{ name: a, args: { id: -9007199254740993 } }] } }',
      'tools.calls: has a whole number',
    ],
    ['{ number: { equals: 5, tolerance: much } }', 'number.tolerance: '],
    ['{ equals: abc, contains: x }', 'equals: does not contain what "contains" names'],
    ['{ equals: abc, matches: ^b }', 'equals: does not match "matches"'],
    ['{ jsonSchema: { type: text } }', 'jsonSchema: expected a JSON Schema of draft 2020-12 or 7: '],
    ['{ jsonSchema: { propertys: {} } }', 'unknown keyword: "propertys"'],
    ['{ jsonSchema: { $async: true } }', '$async is not supported: remove it'],
    ['{ tools: { mode: superset, calls: [] } }', 'tools.calls: every run meets it'],
    [
      '{ tools: { calls: [{ name: a }, { name: b }] }, maxToolCalls: 1 }',
      'maxToolCalls: allows fewer than the 2',
    ],
    ['{ tools: { mode: loose, calls: [] } }', 'tools.mode: expected one of "strict"'],
    ['{ not: {} }', 'not: expects nothing, so every run meets it'],
    ['{ anyOf: [] }', 'anyOf: expected a list of expectations'],
    ['{ anyOf: [{ contains: a }, { path: x }] }', 'anyOf.1: expects nothing'],
    ['{ not: { number: { min: 3, max: 2 } } }', 'not.number.min: no number'],
  ])('is rejected with its place: %s', (expectation, words) => {
    const problems = problemsOf(expecting(expectation));
    expect(problems.join('\n')).toContain(words);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^error 9:\d+ checks\.0\.expect\./);
  });

  it('gets a suggestion for an unknown field of its parts', () => {
    const [problem] = problemsOf(expecting('{ not: { matches: y, contians: x } }'));
    expect(problem).toContain('expect.not.contians: unknown field "contians"; did you mean "contains"?');
  });

  it.each([
    [['{ resume: yes }'], 'turns.0.resume: there is no run to resume: begin with a turn that has an input'],
    [['{ input: {} }', '{ resume: yes }'], 'turns.1.resume: resumes only a run that was interrupted'],
    [['{ expect: { contains: x } }'], 'turns.0.input: expected an input, or resume, and not both'],
    [['{ input: {}, resume: yes }'], 'turns.0.input: expected an input, or resume, and not both'],
  ])('is rejected at its turn: %j', (turns, words) => {
    expect(problemsOf(conversing(...turns)).join('\n')).toContain(words);
  });

  it('is rejected if it has both turns and an input or an expectation', () => {
    const problems = problemsOf(`${conversing('{ input: {} }')}    input: {}\n    expect: {}\n`);
    expect(problems.join('\n')).toContain('checks.0.input: each turn has its own');
    expect(problems.join('\n')).toContain('checks.0.expect: each turn has its own');
  });

  it('is not one of these', () => {
    const { config, problems } = lintText(
      conversing(
        '{ input: { a: 1 }, expect: { status: interrupted } }',
        '{ resume: null, expect: { contains: x } }',
      ),
    );
    expect(problems).toEqual([]);
    expect(config?.checks).toEqual([
      {
        name: 'greets',
        assistant: 'greeter',
        input: {},
        expect: {},
        turns: [
          { input: { a: 1 }, expect: { status: 'interrupted' } },
          { resume: null, expect: { contains: 'x' } },
        ],
        timeoutMs: 60_000,
      },
    ]);
  });

  it.each([
    [
      '    repeat: 5\n    pass: 6\n',
      'checks.0.pass: 5 runs cannot pass 6 times: lower pass, or raise repeat',
    ],
    ['    pass: 2\n', 'checks.0.pass: has no effect without repeat: set repeat, too'],
    [
      '    repeat: 5\n    pass: 4\nchecksBudget: { runs: 3 }\n',
      'checksBudget.runs: the checks take at least 4 runs',
    ],
    ['checksBudget: {}\n', 'checksBudget: expected time, runs or tokens'],
    [
      '    repeat: 20\nsteps: { check: { startToClose: 19m } }\n',
      'expected more than the 20m00s that the check "greets"',
    ],
  ])('is rejected if its repetitions decide nothing: %j', (more, words) => {
    expect(problemsOf(RIGHT + more).join('\n')).toContain(words);
  });

  it('may be repeated within a budget', () => {
    const { config } = lintText(
      `${RIGHT}    repeat: 5\n    pass: 4\nchecksBudget: { time: 10m, runs: 4, tokens: 9 }\n`,
    );
    expect(config?.checks[0]).toMatchObject({ repeat: 5, pass: 4 });
    expect(config?.checksBudget).toEqual({ timeMs: 600_000, runs: 4, tokens: 9 });
  });

  it('has a tolerance that is a share of the number', () => {
    const { config } = lintText(expecting('{ number: { equals: -200, tolerance: 1% } }'));
    expect(config?.checks[0]?.expect).toEqual({ number: { equals: -200, tolerance: 2 } });
  });
});
