import type { AsyncCommand } from 'fast-check';
import { expect } from 'vitest';

import { type ReleaseModel, work } from './releaseModel.ts';
import type { Subject } from './subject.ts';
import type { TargetModel } from './targetModel.ts';

export type Command = AsyncCommand<TargetModel, Subject>;

/**
 * A command. After it, the target must match the model.
 * @param possible - whether it can happen in the present state.
 * @param happens - applies it to both, and compares the answers.
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

export const always = (): boolean => true;

/** For what can happen only if nothing runs. */
export const idle = ({ running }: TargetModel): boolean => running === null;

export function underWay({ running }: TargetModel): ReleaseModel {
  if (running === null) throw new Error('the command is not possible: nothing runs');
  return running;
}

/** Expects that an update was accepted, or refused for the given reason. */
export function expectAnswer(refused: string | undefined, because: string | undefined): void {
  if (because === undefined) expect(refused).toBeUndefined();
  else expect(refused).toContain(because);
}
