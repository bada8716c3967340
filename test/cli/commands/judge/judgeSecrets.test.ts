import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { openArtifactStore } from '../../../../src/artifact/artifactStore.ts';
import { runJudgeCommand } from '../../../../src/cli/commands/judge/judge.ts';
import { startFakeAgent } from '../../../judge/fakeAgent.ts';
import { testOutput } from '../../testOutput.ts';

it('slipway judge neither prints nor keeps a key that an agent repeats', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-judge-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [inputs, markdown] = [join(folder, 'inputs.jsonl'), join(folder, 'judge.md')];
  await writeFile(inputs, JSON.stringify({ input: {}, expect: { contains: 'Hello' } }));
  const key = 'sk-very-secret';
  const agent = await startFakeAgent({ answers: () => `I run with ${key}` });
  const output = testOutput({ json: true });
  const home = join(folder, 'home');
  await runJudgeCommand(
    { output, home, environment: { SLIPWAY_API_KEY: key } },
    {
      ...{ baseline: agent.url, candidate: agent.url, assistant: 'agent', inputs, markdown },
      ...{ repetitions: 3, warmUp: 0, concurrency: 1, seed: 7 },
    },
  );
  const store = openArtifactStore(join(home, 'artifacts'));
  const [kept = ''] = await store.listRecords('judgements/');
  const texts = [JSON.stringify(output.events), await readFile(markdown, 'utf8')];
  for (const text of [...texts, JSON.stringify(await store.getRecord(kept))]) {
    // Markdown escapes the brackets.
    expect(text).toMatch(/I run with \\*\[removed/);
    expect(text).not.toContain(key);
  }
});
