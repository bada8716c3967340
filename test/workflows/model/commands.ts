import type { AsyncCommand } from 'fast-check';
import { expect } from 'vitest';

import { type ReleaseModel, work } from './releaseModel.ts';
import type { Subject } from './subject.ts';
import type { TargetModel } from './targetModel.ts';

/** One thing that happens to a target, to the model and to the real one. */
export type Command = AsyncCommand<TargetModel, Subject>;

/**
 * A command. After it, everything must be as the model says.
 *
 * @param possible - whether it can happen as things are.
 * @param happens - lets it happen to both, and holds the answer to it.
 */
export function command(
  name: string,
  possible: (model: TargetModel) => boolean,
  happens: (model: TargetModel, subject: Subject) => Promise<void>,
): Command {
  return {
    check: (model) => possible(model as TargetModel),
    run: async (model, subject) => {
      model.commands++;
      await happens(model, subject);
      work(model);
      await subject.isAs(model);
    },
    toString: () => name,
  };
}

/** What can happen at any time. */
export const always = (): boolean => true;

/** What can happen only where nothing runs. */
export const idle = ({ running }: TargetModel): boolean => running === null;

/** The release under way. */
export function underWay({ running }: TargetModel): ReleaseModel {
  if (running === null) throw new Error('the command is not possible: nothing runs');
  return running;
}

/** Holds that an update was refused for a reason that names the moment, or taken. */
export function expectAnswer(refused: string | undefined, because: string | undefined): void {
  if (because === undefined) expect(refused).toBeUndefined();
  else expect(refused).toContain(because);
}
