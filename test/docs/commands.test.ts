import { describe, expect, it } from 'vitest';

import { commandLineProblem } from './commandLine.ts';
import { blocksOf, pages, withoutBlocks } from './pages.ts';
import { shellCommands } from './shellCommands.ts';

describe('the commands in the pages', () => {
  it.each(pages())('are valid: $path', ({ text }) => {
    const shown = blocksOf(text)
      .filter(({ language }) => language === 'sh' || language === '')
      .flatMap((block) => shellCommands(block.text))
      .filter(([name]) => name === 'slipway');
    const problems = shown.map((words) => [words.join(' '), commandLineProblem(words.slice(1))]);
    expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([]);
  });

  it.each(pages())('exist if prose names them: $path', ({ text }) => {
    const named = [...withoutBlocks(text).matchAll(/`(slipway [^`\n]+)`/g)]
      .flatMap(([, command = '']) => shellCommands(command))
      .filter(([name, command]) => name === 'slipway' && command !== 'COMMAND');
    const problems = named.map((words) => [words.join(' '), commandLineProblem(words.slice(1), false)]);
    expect(problems.filter(([, problem]) => problem !== undefined)).toEqual([]);
  });
});

describe('a command line', () => {
  it.each([
    ['realease staging', 'there is no command realease'],
    ['release staging --reasons x', 'unknown: --reasons x'],
    ['release a b', 'too many: a b'],
    ['schedule begin', 'what is none of apply, list, pause, resume, trigger'],
    ['quarantine production', 'artifact is missing'],
    ['judge --baseline http://a', '--candidate <url> is missing'],
    ['platform keys make', 'too many: make'],
    ['release --timeout soon', 'Expected a duration'],
  ])('is invalid: %s', (line, problem) => {
    expect(commandLineProblem(line.split(' '))).toContain(problem);
  });
});

describe('a script', () => {
  it('is split into words like in a shell', () => {
    const script = `# first
KEY=x slipway release "a b" \\
  --reason 'c #d' # second
source <(slipway completion bash)
slipway status || code=$?; slipway rehearse --inject "check \\"x y\\" fails" > file`;
    expect(shellCommands(script).filter(([name]) => name === 'slipway')).toEqual([
      ['slipway', 'release', 'a b', '--reason', 'c #d'],
      ['slipway', 'completion', 'bash'],
      ['slipway', 'status'],
      ['slipway', 'rehearse', '--inject', 'check "x y" fails'],
    ]);
  });
});
